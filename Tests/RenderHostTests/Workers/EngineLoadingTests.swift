import Foundation
import PageTesting
import TestServers
import Testing

/// The script engine's library: of the daemon's processes, only workers load it.
@Suite(.timeLimit(.minutes(2)))
struct EngineLoadingTests {
  @Test("a gateway does not load the engine")
  func gateway() async throws {
    let origin = try await FaultOrigin.start()
    origin.serve("/a", Array("body".utf8))
    let folder = try TemporaryDirectory()
    let flags = ["--gateway", "127.0.0.1:0", "--origin", origin.url(for: "")]
    try await Daemon.running(nil, folder, flags) { daemon in
      let gateway = "http://" + (try await daemon.gateway())
      #expect(try await daemon.get("/a", at: gateway).text == "body")
      let pid = daemon.program.identifier
      #expect(try LoadedLibraries.contain("libcurl", in: pid))
      #expect(try !LoadedLibraries.contain(LoadedLibraries.engine, in: pid))
    }
    try await origin.stop()
  }

  @Test("a daemon with pages does not load the engine, and its workers do")
  func workers() async throws {
    let folder = try TemporaryDirectory()
    let bundles = folder.file("bundles")
    try FileManager.default.createDirectory(atPath: bundles, withIntermediateDirectories: true)
    try Data(Script.counter.utf8).write(to: URL(fileURLWithPath: bundles + "/counter.js"))
    try await Daemon.running(bundles, folder) { daemon in
      #expect(try await daemon.get("/render?name=counter").status == 200)
      #expect(try !LoadedLibraries.contain(LoadedLibraries.engine, in: daemon.program.identifier))
      let workers = try await daemon.workers()
      #expect(!workers.isEmpty)
      for worker in workers { #expect(try LoadedLibraries.contain(LoadedLibraries.engine, in: worker)) }
    }
  }
}
