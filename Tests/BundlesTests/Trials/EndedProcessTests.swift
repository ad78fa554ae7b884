import Foundation
import TestSupport
import Testing

@testable import Blobs
@testable import Bundles
@testable import HTTPTransport

/// Processes that end while a page of a release on trial opens.
struct EndedProcessTests {
  /// Starts a process in which the page `a` opens.
  private static func opening(_ fixture: LoadingFixture) async throws -> OpenerProcess {
    let process = try await OpenerProcess.start(store: fixture.store.directory.path, manifest: fixture.source.text)
    for command in ["note", "open 1 a.js cacheOnly", "try 1"] { #expect(try await process.perform(command)) }
    return process
  }

  private static func current(_ fixture: LoadingFixture) async throws -> String? {
    try await fixture.store.source(fixture.source)?.current?.name
  }

  private static func note(_ fixture: LoadingFixture) async -> [BundleNews] {
    let news = Broadcast<BundleNews>(.all, replayLimit: 10)
    await ReleaseTrials(store: fixture.store, news: news).recordEndedProcesses()
    news.finish()
    var heard: [BundleNews] = []
    for await item in news.listen() { heard.append(item) }
    return heard
  }

  @Test("two processes that end while a page opens undo its release, and the next start says so")
  func killed() async throws {
    try await LoadingFixture.onTrial { (fixture: LoadingFixture, _: StoredRelease) async throws in
      for _ in 0..<2 {
        #expect(await Self.note(fixture).isEmpty)
        #expect(try await Self.current(fixture) == "r2")
        #expect(try await Self.opening(fixture).kill())
      }
      let news = await Self.note(fixture)
      guard case .undone(let bad, let current)? = news.first else { return #expect(Bool(false), "\(news)") }
      #expect((bad.failure?.kind, bad.failures, current.name) == (.processEnded, 2, "r1"))
      #expect("\(bad)".hasSuffix("the process ended while \(try fixture.url("/b/a.js")) opened"))
      #expect(try await Self.current(fixture) == "r1")
      #expect(await Self.note(fixture).isEmpty)
      #expect(try fixture.folder.names(in: "store/openings") == [])
    }
  }

  @Test("a process that ends after its page has a tree, or was closed, says nothing", arguments: ["rendered", "ready"])
  func rendered(_ command: String) async throws {
    try await LoadingFixture.onTrial { (fixture: LoadingFixture, _: StoredRelease) async throws in
      for _ in 0..<3 {
        let process = try await Self.opening(fixture)
        #expect(try await process.perform("\(command) 1"))
        #expect(await process.kill())
        #expect(await Self.note(fixture).isEmpty)
        #expect(try await Self.current(fixture) == "r2")
        guard command == "rendered" else { break }
      }
      let standing = try await fixture.store.source(fixture.source)?.current?.standing
      #expect(standing == (command == "ready" ? .good : .trial))
    }
  }

  @Test("a page that opens in a process that runs does not count, however many others start")
  func running() async throws {
    try await LoadingFixture.onTrial { (fixture: LoadingFixture, _: StoredRelease) async throws in
      let process = try await Self.opening(fixture)
      for _ in 0..<5 { #expect(await Self.note(fixture).isEmpty) }
      #expect(try fixture.folder.names(in: "store/openings").count == 1)
      #expect(try await Self.current(fixture) == "r2")
      #expect(await process.kill())
    }
  }

  @Test("files that are no opening change nothing, and are removed")
  func foreign() async throws {
    try await LoadingFixture.onTrial { (fixture: LoadingFixture, _: StoredRelease) async throws in
      let folder = fixture.folder.file("store/openings")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Files.write("", to: folder + "/empty")
      try Files.write("{", to: folder + "/no JSON")
      try Files.write(#"{"release": 1, "page": "x", "url": ""}"#, to: folder + "/no digest")
      try Files.write(
        #"{"release": 999, "page": "\#(String(repeating: "a", count: 32))", "url": "http://h"}"#, to: folder + "/gone")
      try Files.write(String(repeating: " ", count: 1 << 20), to: folder + "/long")
      try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: "/etc/hostname")
      #expect(await Self.note(fixture).isEmpty)
      #expect(try fixture.folder.names(in: "store/openings") == ["link"])
      #expect(try await Self.current(fixture) == "r2")
    }
  }
}
