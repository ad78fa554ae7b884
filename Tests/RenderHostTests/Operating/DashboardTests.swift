import Foundation
import Hummingbird
import PageTesting
import TestServers
import Testing

@testable import RenderHost
@testable import ServerKit

@Suite(.timeLimit(.minutes(3)))
struct DashboardTests {
  /// Opens the dashboard in headless Chromium for some seconds of virtual time: the document, and the lines of the
  /// console.
  private func open(_ host: LiveHost, seconds: Int = 9) async throws -> (dom: String, console: String) {
    let folder = try TemporaryDirectory()
    let result = try await Tool.run(
      "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
      "--user-data-dir=\(folder.file("profile"))", "--window-size=1280,1600", "--enable-logging=stderr", "--v=0",
      "--virtual-time-budget=\(seconds * 1000)", "--dump-dom", "http://127.0.0.1:\(host.port)/")
    let console = result.error.split(separator: "\n").filter { $0.contains("CONSOLE") }.joined(separator: "\n")
    return (result.output, console)
  }

  private static let nasty = #"<img src=x onerror="console.error('ran')"></script>&amp;"#

  private static func status(_ asked: Int) -> HostStatus {
    let now = Date()
    var status = HostStatus(started: now - 4000)
    status.release = .init(
      name: "release-\(asked > 1 ? "new" : "old")", sequence: 1, source: nasty, activated: now, verified: now)
    status.bundles = [
      .init(name: nasty, url: nil, size: 5213, compressed: 1400, state: .ready, opens: 3),
      .init(name: "cart", url: nil, size: 1 << 21, state: .barred, reason: "killed 3 workers", opens: 0),
    ]
    status.pages = [
      .init(
        id: "p1", url: "https://a.example/\(nasty)", phase: "live", worker: 0, opened: now, elements: 12, entry: 0.02,
        preview: "/pages/p1/preview"),
      .init(
        id: "p2", url: "https://a.example/x.js", phase: "failed", opened: now, preview: "//b.example/", error: nasty),
    ]
    status.workers = [
      .init(
        slot: 0, pid: 77, state: "ready", pages: 1, memory: 90 << 20, memoryLimit: 256 << 20, started: now, kills: 2)
    ]
    status.failures = [.init(time: now, kind: "page", message: nasty, subject: nasty)]
    return status
  }

  @Test("the dashboard loads without errors, shows a preview, and updates itself")
  func dashboard() async throws {
    let (asked, previews) = (Monitor(0), Monitor(0))
    let host = try await LiveHost(
      controls: .fake {
        Self.status(
          asked.change { count in
            count += 1; return count
          })
      }
    ) { router in
      router.get("/pages/:id/preview") { _, _ in
        previews.change { $0 += 1 }
        return Response(
          status: .ok,
          headers: [
            .contentType: "text/html", .contentSecurityPolicy: "default-src 'none'; style-src 'unsafe-inline'",
          ],
          body: .init(byteBuffer: .init(string: "<p>preview</p>")))
      }
    }
    let (dom, console) = try await open(host)
    #expect(console.isEmpty, "\(console)")
    #expect(asked.read { $0 } > 2)
    #expect(dom.contains("release-new") && !dom.contains("release-old"))
    #expect(previews.read { $0 } >= 1)
    // The frame must not run scripts, and shows only pages of this host.
    #expect(dom.contains(#"<iframe sandbox="" tabindex="-1""#) && dom.contains(#"src="/pages/p1/preview""#))
    #expect(!dom.contains("//b.example"))
    #expect(dom.contains("Ready") && dom.contains("killed 2 times") && dom.contains("barred"))
    // Texts of others are shown as text.
    #expect(dom.contains("&lt;img src=x") && !dom.contains("<img"))
    #expect(TrafficSample(host.metrics.registry).requests == 0)
    try await host.stop()
  }

  /// A PNG file of one red pixel.
  private static let pixel = Data(
    base64Encoded:
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC")

  @Test(
    "the dashboard of a host that draws shows small pictures, one after the other, and again when a page changes or was busy"
  )
  func thumbnails() async throws {
    let pixel = try #require(Self.pixel)
    let (asked, drawn) = (Monitor(0), Monitor((paths: [String](), running: 0, most: 0)))
    var settings = Settings()
    settings.pictures = true
    let host = try await LiveHost(
      settings,
      controls: .fake {
        let count = asked.change { count in
          count += 1; return count
        }
        var status = HostStatus(started: Date())
        for (id, version) in [("p1", count > 2 ? "2" : "1"), ("p2", "1"), ("p3", "1")] {
          status.pages.append(
            .init(
              id: id, url: "https://a.example/\(id).js", phase: "live", opened: Date(), preview: "/pages/\(id)/preview",
              picture: "/pages/\(id)/thumbnail?of=\(version)"))
        }
        status.pages.append(
          .init(id: "p4", url: "https://a.example/p4.js", phase: "live", opened: Date(), picture: "//b.example/x.png"))
        return status
      }
    ) { router in
      router.get("/pages/:id/thumbnail") { request, context in
        drawn.change {
          $0.paths.append(request.uri.string)
          $0.running += 1
          $0.most = max($0.most, $0.running)
        }
        // Two of them would meet here.
        try await Task.sleep(for: .milliseconds(20))
        drawn.change { $0.running -= 1 }
        let id = context.parameters.get("id")
        guard id != "p3" else { return Response(status: .unprocessableContent) }
        let isFirst = drawn.read { $0.paths.count { $0.contains("/p2/") } } == 1
        if id == "p2", isFirst { return Response(status: .serviceUnavailable) }
        return PageRoutes.response(picture: Array(pixel), .png)
      }
    }
    let (dom, console) = try await open(host, seconds: 14)
    #expect(!console.contains("Content Security Policy"), "\(console)")
    let (paths, _, most) = drawn.read { $0 }
    func count(_ path: String) -> Int { paths.count { $0 == path } }
    #expect(count("/pages/p1/thumbnail?of=2") == 1)
    // The one whose turn did not come is asked for again soon, and one that cannot be drawn less and less often.
    #expect(count("/pages/p2/thumbnail?of=1") == 2)
    #expect((2...4).contains(count("/pages/p3/thumbnail?of=1")) && paths.count <= 8 && most == 1, "\(paths)")
    #expect(dom.contains(#"src="/pages/p1/thumbnail?of=2""#) && dom.contains(#"src="/pages/p2/thumbnail?of=1""#))
    #expect(
      dom.ranges(of: ">No picture.</p>").count == 1 && !dom.contains("<iframe") && !dom.contains("src=\"//b.example"))
    #expect(dom.contains(#"href="/pages/p1/preview""#))
    #expect(TrafficSample(host.metrics.registry).requests == 0)
    try await host.stop()
  }

  @Test("requests of an open dashboard do not count as traffic")
  func ownRequests() async throws {
    let script = Script.page(
      "b.appendChild(d.createElement('image', { attr: { src: 'a.gif' }, style: { width: 9, height: 9 } }))")
    try await PageFarm.running(["page": script], files: ["a.gif": "GIF89a\t\0\t\0\0\0\0"], workers: 1) { farm in
      let registry = farm.record.metrics.registry
      let directory = farm.running.directory
      let host = try await LiveHost(
        Settings(), metrics: farm.record.metrics,
        adding: { routes in
          routes.add(.pages) { router in
            PageRoutes(directory: directory, bodyLimit: 1 << 20).add(to: router)
          }
        })
      func ask(_ path: String) async throws -> String {
        let client = try RawClient(port: host.port)
        client.send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        return try await client.readToEnd()
      }
      let id = try await farm.open("page")
      // What the page itself loads is traffic.
      try await farm.until {
        try farm.metric("renderhost_answers_total", ["kind": "resource", "source": "disk"]) == 1
      }
      let before = TrafficSample(registry)
      try await farm.until { try await ask("/pages/\(id)/preview").contains("/resources?page=\(id)") }
      for path in ["/", "/status", "/resources?page=\(id)&url=a.gif"] {
        #expect(try await ask(path).hasPrefix("HTTP/1.1 200 "), "\(path)")
      }
      let point = TrafficSample(registry).point(since: before, interval: 5, at: Date())
      #expect(point.requests == 0 && point.faults == 0 && point.hits == nil && point.median == nil)
      // The same host counts what others request.
      #expect(try await ask("/pages/\(id)").hasPrefix("HTTP/1.1 200 "))
      #expect(TrafficSample(registry).requests == before.requests + 1)
      try await host.stop()
    }
  }

  @Test("an empty host is shown as empty")
  func emptyHost() async throws {
    var controls = HostControls.fake()
    controls.server.checks = [HealthCheck(name: "release") { "no release is active yet" }]
    let host = try await LiveHost(controls: controls)
    let (dom, console) = try await open(host, seconds: 3)
    #expect(console.isEmpty, "\(console)")
    #expect(dom.contains("Not ready: no release is active yet"))
    for name in ["pages", "bundles", "workers", "failures"] {
      #expect(dom.contains("<p class=\"empty\" id=\"\(name)-empty\">"), "\(name)")
    }
    try await host.stop()
  }

  @Test("the content security policy forbids everything else")
  func contentPolicy() {
    let page = DashboardPage()
    #expect(!page.policy.contains("unsafe") && page.policy.hasPrefix("default-src 'none'; script-src 'sha256-"))
    #expect(page.policy.contains("img-src data:;"))
    #expect(DashboardPage(hasPictures: true).policy.contains("img-src 'self' data:;"))
    #expect(
      !page.html.contains("http://")
        || page.html.ranges(of: "http://").count == page.html.ranges(of: "http://www.w3.org/2000/svg").count)
    #expect(!page.html.contains("/*script*/") && !page.html.contains("innerHTML") && !page.html.contains("https://"))
  }
}
