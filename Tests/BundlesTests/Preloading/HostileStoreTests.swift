import Foundation
import HTTPCaching
import HTTPTypes
import PageTesting
import TestSupport
import Testing

@testable import Blobs
@testable import Bundles
@testable import HTTPCache
@testable import HTTPTransport

/// A store whose folder contains foreign items.
struct HostileStoreTests {
  enum Intruder: String, CaseIterable, Sendable {
    case linkToFile, linkToFolder, brokenLink, hardLink, pipe, device, folder, empty, huge
  }

  /// Paths within the store; `BLOB`, `PART` and `ENTRY` stand for a blob's, a download's and a response's.
  static let paths = [
    "store.sqlite", "store.sqlite-wal", "store.sqlite-shm", "lock", "blobs", "blobs/AB", "BLOB", "partial", "PART",
    "PART.json", "PART.content", "quarantine", "views", "views/ID", "responses.sqlite", "responses.sqlite-wal",
    "responses.lock", "responses", "responses/entries", "responses/partial", "ENTRY", "BODY", "kept", "cookies.txt",
  ]

  @Test(
    "what stands in a file's place is put aside, and nothing outside the store changes",
    .serialized, arguments: paths)
  func putsAside(_ path: String) async throws {
    for intruder in Intruder.allCases { try await putsAside(path, intruder) }
  }

  private func putsAside(_ path: String, _ intruder: Intruder) async throws {
    try await LoadingFixture.running { fixture in
      let outside = try Outside(fixture.folder)
      let before = ["a": "var a = 1", "b": "var b = 1"]
      let after = ["a": "var a = 2; \(String(repeating: "a", count: 2000))", "b": "var b = 1"]
      try fixture.publish(before)
      _ = try await fixture.preload()
      let folder = fixture.folder.file("hostile")
      try FileManager.default.copyItem(atPath: fixture.store.directory.path, toPath: folder)
      let responses = try await Self.storeResponses(in: folder)
      let place = try await Self.place(path, in: folder, fixture, after["a"] ?? "", responses)
      guard try intruder.take(place, outside, folder: folder) else { return }
      if path == "lock", intruder == .folder {
        #expect(throws: StoreError.self) { try BundleStore(at: StoreDirectory(folder)) }
        return
      }
      try fixture.publish(after, release: "r2")
      if path == "responses.lock", intruder == .folder {
        #expect(throws: StoreError.self) { try ResponseStore(at: ResponseDirectory(folder)) }
        return
      }

      let ended = Monitor(false)
      let work = Task {
        defer { ended.change { $0 = true } }
        try await Self.use(folder, fixture, after)
      }
      // A thread that hangs cannot be cancelled.
      try await eventually("it ends") { ended.read { $0 } }
      do { try await work.value } catch { Issue.record("\(path) as \(intruder): \(error)") }
      try outside.expectUnchanged()
    }
  }

  /// Runs every operation that reads or writes the store, each like a process of its own.
  private static func use(_ folder: String, _ fixture: LoadingFixture, _ texts: [String: String]) async throws {
    let directory = StoreDirectory(folder)
    if let reading = try? BundleStore(reading: directory) {
      for source in (try? await reading.sources()) ?? [] {
        guard let release = source.current else { continue }
        for entry in (try? await reading.recordedContents(of: release)) ?? [] {
          if let blob = entry.blob { try? await reading.check(blob) }
        }
      }
      _ = reading.leftovers()
    }
    let store = try BundleStore(at: directory)
    _ = try await store.collectGarbage(keepingPrevious: true, dryRun: true)
    for entry in try await store.candidates(at: try fixture.url("/b/a.js"), of: nil) {
      guard let blob = entry.blob, let bytes = try? await store.bytes(of: blob).bytes else { continue }
      #expect(["var a = 1", texts["a"]].contains(String(decoding: bytes, as: UTF8.self)))
    }
    let report = try await fixture.preload(into: store)
    #expect(report.activated || report.failures.isEmpty, "\(report.failures)")
    let release = try #require(try await store.source(fixture.source)?.current)
    #expect(release.name == "r2")
    for entry in try await store.contents(of: release) {
      let blob = try #require(entry.blob, "\(entry.bundle.name)")
      try await store.check(blob)
      #expect(String(decoding: try await store.bytes(of: blob).bytes, as: UTF8.self) == texts[entry.bundle.name])
    }
    _ = store.leftovers()
    let lease = try await store.lease(release)
    _ = try await store.collectGarbage(keepingPrevious: false, dryRun: false)
    #expect(try await store.contents(of: release).allSatisfy { $0.blob != nil })
    withExtendedLifetime(lease) {}
    let responses = try ResponseStore(at: ResponseDirectory(folder))
    for entry in try await responses.list() {
      guard let body = try await responses.body(of: entry) else { continue }
      #expect(try ContentDigests(of: body.read(at: 0, upTo: .max)).sha256 == entry.digest)
    }
    _ = try await storeResponses(in: folder)
    #expect(try await responses.list().count >= 2)
  }

  private static func storeResponses(in folder: String) async throws -> [ResponseEntry] {
    let store = try ResponseStore(at: ResponseDirectory(folder), options: .init(lowSpace: 0))
    for size in [100, 10_000] {
      let writer = try store.writer()
      try writer.append(Array(repeating: 7, count: size))
      let time = HTTPDate(secondsSinceEpoch: 0)
      let head = ResponseMetadata(
        status: 200, fields: HTTPFields(), times: ExchangeTimes(request: time, response: time), vary: VaryKey(),
        extent: .whole(Int64(size)), staleAt: .max)
      _ = try await store.commit(writer, head: head, for: CacheKey(named: "\(size)"), replacing: [])
    }
    return try await store.list()
  }

  private static func place(
    _ path: String, in folder: String, _ fixture: LoadingFixture, _ text: String, _ responses: [ResponseEntry]
  ) async throws -> String {
    let blob = try ContentDigests(of: Array("var a = 1".utf8)).sha256.hex
    let part = try ContentDigests(of: Array(text.utf8)).md5.hex
    let id = try await fixture.store.source(fixture.source)?.current?.id ?? 0
    func found(_ root: String) -> String {
      FileManager.default.enumerator(atPath: folder + "/" + root)?.compactMap { $0 as? String }
        .first { $0.contains("/") }.map { root + "/" + $0 } ?? root
    }
    return folder + "/"
      + path.replacing("BLOB", with: "blobs/\(blob.prefix(2))/\(blob)").replacing("AB", with: blob.prefix(2))
      .replacing("PART", with: "partial/\(part)").replacing("ID", with: "\(id)")
      .replacing("ENTRY", with: found("responses/entries")).replacing("BODY", with: found("responses/bodies"))
  }

  /// The files that must not change.
  fileprivate struct Outside {
    let file: String
    let folder: String
    private static let text = "precious"

    init(_ directory: TemporaryDirectory) throws {
      (file, folder) = (directory.file("outside/file"), directory.file("outside/folder"))
      try Files.write(Self.text, to: file)
      try Files.write(Self.text, to: folder + "/inner")
      try FileManager.default.setAttributes([.posixPermissions: 0o751], ofItemAtPath: folder)
    }

    func expectUnchanged() throws {
      for path in [file, folder + "/inner"] {
        #expect(try String(contentsOf: URL(fileURLWithPath: path), encoding: .utf8) == Self.text)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o644)
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["inner"])
      #expect(try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int == 0o751)
    }
  }
}

extension HostileStoreTests.Intruder {
  /// - Returns: `true` if the item can be placed there.
  fileprivate func take(_ path: String, _ outside: HostileStoreTests.Outside, folder: String) throws -> Bool {
    try? FileManager.default.removeItem(atPath: path)
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    switch self {
    case .linkToFile: return symlink(outside.file, path) == 0
    case .linkToFolder: return symlink(outside.folder, path) == 0
    case .brokenLink: return symlink(folder + "-none", path) == 0
    case .hardLink:
      // A file of the same user that has two names is an index or a lock like any other.
      guard path.contains("/partial/") || path.contains("/blobs/") else { return false }
      return link(outside.file, path) == 0
    case .pipe: return mkfifo(path, 0o644) == 0
    case .device: return mknod(path, S_IFCHR | 0o666, 0x0103) == 0
    case .folder: try Files.write("inner", to: path + "/inner")
    case .empty: try Files.write("", to: path)
    case .huge:
      try Files.write("", to: path)
      return truncate(path, 1 << 40) == 0
    }
    return true
  }
}

extension LoadingFixture {
  /// Preloads the fixture's release into another store.
  func preload(into store: BundleStore) async throws -> PreloadReport {
    let client = try client()
    let verifier = LaunchVerifier(
      source: try source, store: store, client: client, retry: RetryPolicy(attempts: 1))
    let fetcher = BundleFetcher(
      client: client, store: store, retry: RetryPolicy(attempts: 2), sleep: { _ in })
    return await Preloader(
      store: store, verifier: verifier, downloader: BundleDownloader(store: store, fetcher: fetcher)
    ).start().report()
  }
}
