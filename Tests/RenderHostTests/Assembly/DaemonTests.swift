import Foundation
import PageKit
import PageTesting
import TestServers
import TestSupport
import Testing

@testable import RenderHost

/// The daemon with all its parts.
struct DaemonTests {
  /// A page that shows a word and its URL.
  static func bundle(_ word: String) -> String {
    """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)
    b.appendChild(d.createElement('text', { attr: { value: '\(word) from ' + weex.config.bundleUrl } }))
    """
  }

  static func write(_ text: String, to path: String) throws {
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  @Test("a folder's pages run by name and by the URL of their bundles")
  func folderPages() async throws {
    let folder = try TemporaryDirectory()
    try Self.write(Self.bundle("hello"), to: folder.file("bundles/home.js"))
    try await Daemon.running(folder.file("bundles"), folder) { daemon in
      let served = try await daemon.get("/bundles/home.js")
      #expect(served.text == Self.bundle("hello"))
      for wanted in [
        #"{"name":"home"}"#, #"{"url":"/bundles/home.js"}"#, #"{"url":"\#(daemon.origin)/bundles/home.js"}"#,
      ] {
        let opened = try await daemon.post("/pages", wanted)
        #expect(opened.status == 201)
        #expect(opened.text.contains("hello from \(daemon.origin)/bundles/home.js"))
        // No path of this machine is disclosed.
        #expect(!opened.text.contains("file:"))
      }
      // Parameters belong to the page, not to the name of its bundle.
      let opened = try await daemon.post("/pages", #"{"url":"\#(daemon.origin)/bundles/home.js?id=1"}"#)
      #expect(opened.status == 201, "\(opened.text)")
      #expect(opened.text.contains("hello from \(daemon.origin)/bundles/home.js?id=1"))
      #expect(try await daemon.get("/render?name=home&settle=soon").status == 400)
      let status = try await daemon.get("/status")
      #expect(status.text.contains("\(daemon.origin)/bundles/home.js"))
      #expect(!status.text.contains("file:"))
      let metrics = try await daemon.get("/metrics")
      #expect(metrics.text.contains(#"renderhost_answers_total{kind="bundle""#))
      daemon.program.send(SIGTERM)
      #expect(await daemon.program.result().status == 0)
    }
  }

  @Test("pages run on the admin listener, with bundles from the public one")
  func adminPages() async throws {
    let folder = try TemporaryDirectory()
    try Self.write(Self.bundle("hello"), to: folder.file("bundles/home.js"))
    try await Daemon.running(folder.file("bundles"), folder, ["--admin-listen", "127.0.0.1:0"]) { daemon in
      let admin = try await daemon.admin()
      #expect(admin != daemon.origin)
      #expect(try await daemon.get("/bundles/home.js").status == 200)
      #expect(try await daemon.get("/bundles/home.js", at: admin).status == 404)
      let opened = try await daemon.post("/pages", #"{"url":"\#(daemon.origin)/bundles/home.js"}"#, at: admin)
      #expect(opened.status == 201 && opened.text.contains("hello from \(daemon.origin)/bundles/home.js"))
      let page = try #require(opened.headers["location"])
      for path in ["/", "/status", "/metrics", page, "\(page)/preview", "/render?name=home", "/pages/barred"] {
        #expect(try await daemon.get(path, at: admin).status == 200, "\(path)")
        #expect(try await daemon.get(path).status == 404, "\(path)")
      }
      #expect(try await daemon.post("/pages", #"{"name":"home"}"#).status == 404)
      daemon.program.send(SIGTERM)
      #expect(await daemon.program.result().status == 0)
    }
  }

  /// A page that shows its URL and the results of embedding, fetching and navigating.
  private static let curious = """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)
    function show(text) { b.appendChild(d.createElement('text', { attr: { value: text } })) }
    ;['none.json', '../secret.json', '/etc/passwd', 'list.json'].forEach(function (url) {
      weex.requireModule('stream').fetch({ url: url, type: 'text' }, function (r) { show(url + ': ' + JSON.stringify(r)) })
    })
    ;['child.js', 'none.js'].forEach(function (src) { b.appendChild(d.createElement('embed', { attr: { src: src } })) })
    b.appendChild(d.createElement('image', { attr: { src: 'none.png' } }))
    weex.requireModule('navigator').push({ url: 'child.js' }, function () {})
    """

  @Test("neither pages nor their callers learn paths of this machine")
  func hiddenPaths() async throws {
    let folder = try TemporaryDirectory()
    try Self.write(Self.curious, to: folder.file("bundles/home.js"))
    try Self.write(Self.bundle("child"), to: folder.file("bundles/child.js"))
    try Self.write("[1]", to: folder.file("bundles/list.json"))
    try Self.write("[2]", to: folder.file("secret.json"))
    try await Daemon.running(folder.file("bundles"), folder) { daemon in
      func check(_ text: String, _ what: String) {
        #expect(!text.contains(folder.path) && !text.contains("file:///"), "\(what): \(text)")
      }
      let html = try await daemon.get("/render?name=home&settle=5").text
      #expect(html.contains("<title>\(daemon.origin)/bundles/home.js</title>"))
      #expect(html.contains("child from \(daemon.origin)/bundles/child.js"))
      check(html, "HTML")
      let outline = try await daemon.get("/render?name=home&settle=5&format=json").text
      check(outline, "JSON")
      for part in [
        #"\"data\":\"[1]\""#, "outside the folder of bundles",
        "/bundles/none.json: there is no such file", "/bundles/none.png: there is no such file",
      ] {
        #expect(outline.contains(part), "\(part) is not in \(outline)")
      }
      #expect(!outline.contains("[2]"))
      for path in [
        "/resources?url=\(daemon.origin)/bundles/none.png", "/render?url=file://\(folder.file("bundles/none.js"))",
        "/resources?url=\(daemon.origin)/bundles/..%252fsecret.json", "/resources?url=\(daemon.origin)/status",
      ] {
        let answer = try await daemon.get(path)
        #expect(answer.status >= 400 && !answer.text.contains("[2]"), "\(path)")
        check(answer.text, path)
      }
      #expect(try await daemon.get("/resources?url=\(daemon.origin)/bundles/list.json").text == "[1]")
    }
  }

  @Test("an origin that is not named is not fetched")
  func unnamedOrigins() async throws {
    let folder = try TemporaryDirectory()
    try Self.write(Self.bundle("hello"), to: folder.file("bundles/home.js"))
    try await FaultOrigin.running { (origin: FaultOrigin) async throws -> Void in
      origin.serve("/secret", Array("secret".utf8))
      try await Daemon.running(folder.file("bundles"), folder) { daemon in
        let secret = origin.url(for: "/secret")
        for path in ["/resources?url=\(secret)", "/render?url=\(secret)", "/render?url=file:///etc/passwd"] {
          let answer = try await daemon.get(path)
          #expect(answer.status == 403, "\(path)")
        }
        let opened = try await daemon.post("/pages", #"{"url":"\#(secret)"}"#)
        #expect(opened.status == 403)
        #expect(origin.requests.isEmpty)
      }
    }
  }

  @Test("a gateway runs without bundles")
  func gatewayAlone() async throws {
    let folder = try TemporaryDirectory()
    try await FaultOrigin.running { (origin: FaultOrigin) async throws -> Void in
      origin.serve("/list", Array("[]".utf8), headers: [.cacheControl: "max-age=60"])
      let flags = ["--gateway", "127.0.0.1:0", "--origin", origin.url(for: "")]
      try await Daemon.running(nil, folder, flags) { daemon in
        let gateway = try await daemon.gateway()
        for _ in 0..<2 { #expect(try await daemon.get("/list", at: "http://\(gateway)").text == "[]") }
        #expect(origin.requestCount(path: "/list") == 1)
        let status = try await daemon.get("/status").text
        #expect(status.contains(#""hit":1"#) && status.contains(#""hitRatio":0.5"#))
        let metrics = try await daemon.get("/metrics").text
        #expect(metrics.contains(#"renderhost_gateway_answers_total{origin="origin",result="hit"} 1"#))
        #expect(metrics.contains(#"renderhost_gateway_origin_up{origin="origin"} 1"#))
        #expect(try await daemon.get("/pages").status == 404)
      }
    }
  }

  @Test(
    "a gateway alone starts no worker, also with --workers, has no routes of pages, and is ready without a check of workers"
  )
  func gatewayWithoutWorkers() async throws {
    let folder = try TemporaryDirectory()
    try await FaultOrigin.running { (origin: FaultOrigin) async throws -> Void in
      origin.serve("/page.js", Array(Self.bundle("hello").utf8))
      let url = origin.url(for: "/page.js")
      let flags = ["--gateway", "127.0.0.1:0", "--origin", origin.url(for: ""), "--allow-origin", origin.url(for: "")]
      try await Daemon.running(nil, folder, flags) { daemon in
        let gateway = try await daemon.gateway()
        #expect(try await daemon.get("/page.js", at: "http://\(gateway)").status == 200)
        #expect(try await daemon.post("/pages", #"{"url":"\#(url)"}"#).status == 404)
        #expect(try await daemon.get("/render?url=\(url)").status == 404)
        #expect(daemon.program.processes == [daemon.program.identifier])
        #expect(try await daemon.workers().isEmpty)
        let ready = try await daemon.get("/readyz")
        #expect(ready.status == 200 && !ready.text.contains("workers"), "\(ready.text)")
      }
    }
  }

  @Test("killed workers do not leak file descriptors")
  func workerDescriptors() async throws {
    let folder = try TemporaryDirectory()
    try Self.write(Self.bundle("hello"), to: folder.file("bundles/home.js"))
    try await Daemon.running(folder.file("bundles"), folder) { daemon in
      func descriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.program.identifier)/fd").count
      }
      try await daemon.until("two workers are ready") { try await daemon.workers().count == 2 }
      _ = try await daemon.get("/render?name=home")
      let before = try descriptors()
      // Each replacement waits for the pool's pause after a worker's end. One descriptor for each is more than is allowed.
      for _ in 0..<Soak.rounds(5, soaking: 20) {
        let pids = try await daemon.workers()
        guard let pid = pids.first else { continue }
        kill(pid, SIGKILL)
        try await daemon.until("another has taken its place") {
          let now = try await daemon.workers()
          return now.count == 2 && !now.contains(pid)
        }
      }
      let rendered = try await daemon.get("/render?name=home")
      #expect(rendered.status == 200)
      let after = try descriptors()
      #expect(after <= before + 4)
    }
  }

  @Test("all JSON answers have the same fields")
  func jsonHeads() async throws {
    let folder = try TemporaryDirectory()
    try Self.write(Self.bundle("hello"), to: folder.file("bundles/home.js"))
    try await Daemon.running(folder.file("bundles"), folder) { daemon in
      for (path, status) in [
        ("/status", 200), ("/readyz", 200), ("/pages", 200), ("/pages/barred", 200), ("/pages/none", 404),
        ("/render?name=home&format=json", 200), ("/bundles/none.js", 404), ("/nothing", 404),
      ] {
        let answer = try await daemon.get(path)
        #expect(answer.status == status, "\(path)")
        #expect(answer.headers["content-type"] == "application/json", "\(path)")
        #expect(answer.headers["cache-control"] == "no-store", "\(path)")
        #expect(answer.text.hasPrefix("{") && answer.text.hasSuffix("}"), "\(path)")
        #expect(status < 400 || answer.text.hasPrefix(#"{"error":""#), "\(path)")
      }
    }
  }

  @Test("an open event stream does not delay the shutdown")
  func watcherAtStop() async throws {
    let folder = try TemporaryDirectory()
    try Self.write(Self.bundle("hello"), to: folder.file("bundles/home.js"))
    try await Daemon.running(folder.file("bundles"), folder, ["--shutdown-time", "600"]) { daemon in
      let opened = try await daemon.post("/pages", #"{"name":"home"}"#)
      let page = try #require(opened.headers["location"])
      async let events = daemon.get("\(page)/events")
      async let releases = daemon.get("/releases/events")
      try await daemon.until("somebody watches") {
        try await daemon.get("/metrics").text.contains("renderhost_http_requests_in_flight 3")
      }
      daemon.program.send(SIGTERM)
      // Their streams end, and the daemon with them, long before the time limit.
      try await daemon.until("it has ended") { !daemon.program.isRunning }
      _ = try? await (events, releases)
      #expect(await daemon.program.result().status == 0)
    }
  }
}
