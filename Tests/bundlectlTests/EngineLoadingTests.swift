import Foundation
import TestServers
import Testing

/// Libraries that are loaded when they are needed: the script engine's by a process that runs scripts, libcurl by one that
/// sends requests.
@Suite(.timeLimit(.minutes(2)))
struct EngineLoadingTests {
  private static let page =
    "// { \"framework\": \"Vanilla\" }\nvar d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)\n"

  /// A page with a request that the origin holds.
  private static func waiting(for url: String) -> String {
    page + "weex.requireModule('stream').fetch({ url: '\(url)' }, function () {})"
  }

  /// The processes that a process has started.
  private static func children(of process: pid_t) throws -> [pid_t] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task").flatMap { thread in
      let text = (try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/children", encoding: .utf8)) ?? ""
      return text.split(separator: " ").compactMap { pid_t($0) }
    }
  }

  @Test("a preload does not load the engine")
  func preload() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["a.js": Self.page])
      site.origin.hold("/b/a.js")
      let run = try Command.start(["preload", "--manifest", site.manifest, "--store", site.store])
      try await site.origin.waitForRequests(1, to: "/b/a.js")
      let pid = run.identifier
      #expect(try LoadedLibraries.contain("libcurl", in: pid))
      #expect(try !LoadedLibraries.contain(LoadedLibraries.engine, in: pid))
      site.origin.release("/b/a.js")
      #expect(await run.result().status == 0)
    }
  }

  @Test("a rendered page's process has the engine, and the command has not")
  func renderInAWorker() async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(Self.waiting(for: site.origin.url(for: "/slow.json")), to: "a.js")
      site.origin.serve("/slow.json", Array("{}".utf8))
      site.origin.hold("/slow.json")
      let run = try Command.start(["render", site.folder.file("a.js"), "--store", site.store])
      try await site.origin.waitForRequests(1, to: "/slow.json")
      let pid = run.identifier
      #expect(try !LoadedLibraries.contain(LoadedLibraries.engine, in: pid))
      let workers = try Self.children(of: pid)
      #expect(workers.count == 1)
      for worker in workers {
        #expect(try LoadedLibraries.contain(LoadedLibraries.engine, in: worker))
        #expect(try !LoadedLibraries.contain("libcurl", in: worker))
      }
      site.origin.release("/slow.json")
      #expect(await run.result().status == 0)
    }
  }

  @Test("with --in-process the engine is loaded in the command's own process")
  func renderInProcess() async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(Self.waiting(for: site.origin.url(for: "/slow.json")), to: "a.js")
      site.origin.serve("/slow.json", Array("{}".utf8))
      site.origin.hold("/slow.json")
      let run = try Command.start(["render", site.folder.file("a.js"), "--store", site.store, "--in-process"])
      try await site.origin.waitForRequests(1, to: "/slow.json")
      #expect(try LoadedLibraries.contain(LoadedLibraries.engine, in: run.identifier))
      site.origin.release("/slow.json")
      #expect(await run.result().status == 0)
    }
  }

  @Test(
    "without the engine a page fails with the package to install, and all else works",
    arguments: [[], ["--in-process"]])
  func noEngine(_ more: [String]) async throws {
    try await Site.running { (site: Site) async throws in
      // The loader finds a file that is not a library.
      try site.write("", to: "libraries/libjavascriptcoregtk-4.1.so.0")
      let environment = ["LD_LIBRARY_PATH": site.folder.file("libraries")]
      try site.write(Self.page, to: "a.js")
      let result = try await Command.start(
        ["render", site.folder.file("a.js"), "--store", site.store] + more, environment: environment
      ).result()
      #expect(result.status == 1 && !result.wasKilled)
      let reason = "JavaScriptCore cannot be loaded: install libjavascriptcoregtk-4.1-0"
      #expect(result.error.contains(reason), "\(result.error)")
      try site.publish(["a.js": Self.page])
      let preload = try await Command.run(
        "preload", "--manifest", site.manifest, "--store", site.store, environment: environment)
      #expect(preload.status == 0, "\(preload.error)")
      let doctor = try await Command.run("doctor", "--store", site.store, environment: environment)
      #expect(doctor.output.contains("– pages      cannot run here: \(reason)"), "\(doctor.output)")
    }
  }

  @Test("without libcurl a preload fails with the package to install, and a command without requests works")
  func noTransport() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["a.js": Self.page])
      #expect(try await Command.run("preload", "--manifest", site.manifest, "--store", site.store).status == 0)
      // The loader finds a file that is not a library.
      try site.write("", to: "libraries/libcurl.so.4")
      let environment = ["LD_LIBRARY_PATH": site.folder.file("libraries")]
      let preload = try await Command.run(
        "preload", "--manifest", site.manifest, "--store", site.store, environment: environment)
      #expect(preload.status == 1)
      #expect(preload.error.contains("libcurl cannot be loaded: install libcurl4"), "\(preload.error)")
      let status = try await Command.run("status", "--store", site.store, environment: environment)
      #expect(status.status == 0, "\(status.error)")
    }
  }

  @Test("doctor names the packages that pages cannot be drawn without")
  func noPictures() async throws {
    try await Site.running { (site: Site) async throws in
      // The loader finds files that are not libraries.
      for name in ["libpangocairo-1.0.so.0", "libturbojpeg.so.0"] { try site.write("", to: "libraries/\(name)") }
      let doctor = try await Command.run(
        "doctor", "--store", site.store, environment: ["LD_LIBRARY_PATH": site.folder.file("libraries")])
      #expect(doctor.status == 0)
      #expect(
        doctor.output.contains("– pictures   pictures of pages cannot be drawn: install libpangocairo-1.0-0 ("),
        "\(doctor.output)")
      #expect(doctor.output.contains("; JPEG pictures cannot be drawn: install libturbojpeg0 ("), "\(doctor.output)")
    }
  }
}
