import Foundation
import PageTesting
import Synchronization
import TestSupport
import Testing

@testable import Blobs
@testable import Bundles
@testable import HTTPTransport

/// A store, of which each process gets a copy, in which it is killed after one of its changes.
final class KillPoints: Sendable {
  let fixture: LoadingFixture
  let source: PageURL
  private let bundles: Int
  /// The folder of the store that is copied.
  private let first = Mutex<String?>(nil)
  /// The copies in which a process was killed.
  private let copies = Mutex<[String]>([])

  /// - Parameter bundles: the bundles of each release; in `make soak` also twice to eight times as many.
  static func running(bundles: Int, _ body: (KillPoints) async throws -> Void) async throws {
    for round in 1...Soak.rounds(1, soaking: 12) {
      try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
        try await body(KillPoints(fixture, bundles: bundles * round))
      }
    }
  }

  private init(_ fixture: LoadingFixture, bundles: Int) throws {
    self.fixture = fixture
    self.bundles = bundles
    source = try fixture.source
  }

  // MARK: The store

  func publish(_ release: String) throws {
    var scripts: [String: String] = [:]
    for number in 0..<bundles { scripts["a\(number)"] = "// \(number) of \(release)" }
    try fixture.publish(scripts, release: release)
  }

  /// Stores a release and makes it current.
  @discardableResult
  func release(_ name: String, standing: ReleaseStanding = .trial) async throws -> StoredRelease {
    try publish(name)
    #expect(try await fixture.preload().activated)
    let release = try #require(try await fixture.store.source(source)?.current)
    if standing != .trial { try await fixture.store.mark(release, as: standing) }
    return release
  }

  /// Begins with a store that is not there.
  func beginEmpty() throws { first.withLock { $0 = fixture.folder.file("none") } }

  func begin(with folder: TemporaryDirectory) throws {
    let path = fixture.folder.file("former")
    try FileManager.default.copyItem(atPath: folder.path, toPath: path)
    first.withLock { $0 = path }
  }

  /// The name of the current release, all of whose bundles are stored with the right bytes; `nil` without one.
  func wholeCurrent(of store: BundleStore) async throws -> String? {
    guard let current = try await store.source(source)?.current else { return nil }
    let contents = try await store.recordedContents(of: current)
    #expect(contents.count == bundles)
    for entry in contents {
      let blob = try #require(entry.blob, "\(entry.bundle.name) of \(current.name)")
      let text = String(decoding: try await store.bytes(of: blob).bytes, as: UTF8.self)
      #expect(text == "// \(entry.bundle.name.dropFirst()) of \(current.name)")
    }
    return current.name
  }

  // MARK: Processes

  /// Performs commands on the store itself.
  func perform(_ commands: [String]) async throws {
    #expect(try await run(commands, in: fixture.store.directory.path, killedAt: nil).wasKilled == false)
  }

  /// Performs the commands in a process that is killed after its first change of a file, after its second, and so on until
  /// one comes to its end, each time on a copy of the store.
  ///
  /// - Parameter check: looks at the copy, and names what it finds.
  /// - Returns: how often each name was found.
  func killing(_ commands: [String], check: (BundleStore) async throws -> String?) async throws -> [String: Int] {
    var ends: [String: Int] = [:]
    var change = 0
    while true {
      change += 1
      let copy = try copied(named: "killed-\(change)")
      let result = try await run(commands, in: copy, killedAt: change)
      if FileManager.default.fileExists(atPath: copy) {
        let end = try await check(BundleStore(at: StoreDirectory(copy)))
        ends[end ?? "none", default: 0] += 1
      }
      guard result.wasKilled else {
        #expect(result.status == 0 && result.output.contains("changes"), "\(result.output) \(result.error)")
        break
      }
      copies.withLock { $0.append(copy) }
    }
    print("kill points of \(commands.joined(separator: ", ")): \(change - 1), found: \(ends)")
    #expect(change > 3)
    return ends
  }

  /// Performs commands to their end in each store in which a process was killed.
  func finish(_ commands: [String], check: (BundleStore) async throws -> Void) async throws {
    for copy in copies.withLock(\.self) {
      let result = try await run(commands, in: copy, killedAt: nil)
      #expect(!result.wasKilled)
      try await check(BundleStore(at: StoreDirectory(copy)))
    }
  }

  private func run(
    _ commands: [String], in store: String, killedAt change: Int?
  ) async throws -> RunningProgram.Result {
    var environment = ProcessInfo.processInfo.environment
    environment["PAGEKIT_KILL_AT"] = change.map { "\($0)" }
    return try await RunningProgram(
      RunningProgram.built("PageOpenerTool"), [store, source.text] + commands, environment: environment
    ).result()
  }

  /// Copies the store. The files of blobs, which nobody writes into, stay the same ones.
  private func copied(named name: String) throws -> String {
    let files = FileManager.default
    let (from, to) = (first.withLock { $0 ?? fixture.store.directory.path }, fixture.folder.file(name))
    guard files.fileExists(atPath: from) else { return to }
    try files.createDirectory(atPath: to, withIntermediateDirectories: true)
    for item in try files.contentsOfDirectory(atPath: from) {
      if item == "blobs" {
        try files.linkItem(atPath: "\(from)/\(item)", toPath: "\(to)/\(item)")
      } else {
        try files.copyItem(atPath: "\(from)/\(item)", toPath: "\(to)/\(item)")
      }
    }
    return to
  }
}
