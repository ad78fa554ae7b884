import Foundation
import PageKit
import PageTesting
import TestSupport
import Testing

/// The browser's own client of RFC 9842.
struct BrowserDeltaTests {
  /// Fetches the first URL, and then the second until it arrives as a difference or ten seconds have passed: the browser
  /// stores a dictionary in its own time. Reports what arrived last.
  private static let page = """
    <!doctype html><script>
    const [first, second] = new URLSearchParams(location.search).getAll('url')
    async function load() {
      await (await fetch(first)).text()
      let coding = null, bytes = null
      for (const end = Date.now() + 10000; coding !== 'dcz' && Date.now() < end;) {
        await new Promise(done => setTimeout(done, 100))
        const response = await fetch(second, { cache: 'reload' })
        coding = response.headers.get('Content-Encoding')
        bytes = await response.arrayBuffer()
      }
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
      return coding + ' ' + Array.from(digest, byte => byte.toString(16).padStart(2, '0')).join('')
    }
    load().catch(error => String(error)).then(text => fetch('/result/' + encodeURIComponent(text)))
    </script>
    """

  @Test("Chromium loads a new version as the difference from the one it has")
  func chromium() async throws {
    let directory = try TemporaryDirectory()
    let versions = (1...2).map { "\(SeededText.make(bytes: 30_000))\nvar version = \($0);" }
    let digests = try versions.map { try ContentDigests(of: Array($0.utf8)).sha256 }
    try ServingFixture.write(versions[0], to: directory.file("bundles/home.js"))
    try await ServingFixture.folder(directory) { (host: ServingFixture) async throws in
      try await host.waitForRelease("home.js", versions[0])
      try host.write(versions[1], "home.js")
      try await host.waitForRelease("home.js", versions[1])
      try await FaultOrigin.running { origin in
        origin.serve("/", Array(Self.page.utf8), contentType: "text/html")
        origin.respond("/result/*") { _ in OriginResponse() }
        let urls = digests.map { "url=http://127.0.0.1:\(host.port)/blobs/\($0)/home.js" }.joined(separator: "&")
        let browser = try RunningProgram(
          "/usr/bin/env",
          [
            "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--user-data-dir=\(directory.file("profile"))",
            "--remote-debugging-port=0", origin.url(for: "/?\(urls)"),
          ])
        defer { browser.send(SIGTERM) }
        try await origin.waitForRequests(1, to: "/result/*", within: .seconds(100))
        let result = origin.requests(to: "/result/*").last?.path.removingPercentEncoding
        #expect(result == "/result/dcz \(digests[1])")
      }
      #expect(try host.count("renderhost_saved_bytes_total", ["how": "delta"]) > 0)
    }
  }
}
