import Foundation
import PageTesting
import TestServers
import Testing

/// The script engine's library: of the daemon's processes, only workers load it.
@Suite(.timeLimit(.minutes(2)))
struct EngineLoadingTests {
  /// A folder with the bundle `counter`.
  ///
  /// - Parameter library: a library that a daemon cannot load which is started by the shell with the line `shell`.
  private static func folder(
    without library: String? = nil
  ) throws -> (folder: TemporaryDirectory, bundles: String, shell: String) {
    let folder = try TemporaryDirectory()
    let (bundles, libraries) = (folder.file("bundles"), folder.file("libraries"))
    for path in [bundles, libraries] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    try Data(Script.counter.utf8).write(to: URL(fileURLWithPath: bundles + "/counter.js"))
    // The loader finds a file that is not a library.
    if let library { try Data().write(to: URL(fileURLWithPath: libraries + "/" + library)) }
    return (folder, bundles, "export LD_LIBRARY_PATH=\(libraries)")
  }

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
    let (folder, bundles, _) = try Self.folder()
    try await Daemon.running(bundles, folder) { daemon in
      #expect(try await daemon.get("/render?name=counter").status == 200)
      #expect(try !LoadedLibraries.contain(LoadedLibraries.engine, in: daemon.program.identifier))
      let workers = try await daemon.workers()
      #expect(!workers.isEmpty)
      #expect(Set(workers).isSubset(of: daemon.program.processes))
      for worker in workers { #expect(try LoadedLibraries.contain(LoadedLibraries.engine, in: worker)) }
    }
  }

  @Test("without the engine a host with pages is not ready, answers for them with 503, and says what to install")
  func noEngine() async throws {
    let (folder, bundles, shell) = try Self.folder(without: "libjavascriptcoregtk-4.1.so.0")
    let reason = "JavaScriptCore cannot be loaded: install libjavascriptcoregtk-4.1-0"
    try await Daemon.running(bundles, folder, shell: shell, isReady: false) { daemon in
      try await daemon.until("/readyz has the reason") {
        let answer = try await daemon.get("/readyz")
        return answer.status == 503 && answer.text.contains("pages cannot run: \(reason)")
      }
      #expect(try await daemon.get("/status").text.contains(reason))
      let page = try await daemon.get("/render?name=counter")
      #expect(page.status == 503 && page.text.contains("pages cannot run here: \(reason)"), "\(page.text)")
      #expect(try await daemon.get("/bundles/counter.js").status == 200)
      #expect(daemon.said.contains("pages cannot run: \(reason)"))
    }
    try await Daemon.running(bundles, folder, ["--workers", "0"], shell: shell) { (daemon: Daemon) async throws in
      #expect(try await daemon.get("/bundles/counter.js").status == 200)
      #expect(try await daemon.get("/render?name=counter").status == 404)
    }
  }

  @Test("without the library for pictures a host that draws opens pages, and says with 501 what to install")
  func noPictures() async throws {
    let (folder, bundles, shell) = try Self.folder(without: "libpangocairo-1.0.so.0")
    try await Daemon.running(bundles, folder, ["--pictures"], shell: shell) { daemon in
      #expect(try await daemon.get("/render?name=counter").status == 200)
      let picture = try await daemon.get("/render?name=counter&format=png")
      #expect(picture.status == 501 && picture.text.contains("install libpangocairo-1.0-0"), "\(picture.text)")
      #expect(!picture.text.contains("exception"), "\(picture.text)")
    }
  }
}
