import Foundation
import PageTesting
import TestServers
import TestSupport
import Testing

@testable import RenderHost

/// `/status` and `/metrics` of a whole daemon.
struct StatusTests {
  private static let text = String(repeating: "// much of the same\n", count: 50)

  private func told(by daemon: Daemon) async throws -> HostStatus {
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .iso8601
    return try decoder.decode(HostStatus.self, from: Data(try await daemon.get("/status").bytes))
  }

  @Test("a second host on one store is told, and metrics have the build, the checks and the free disk")
  func twoHosts() async throws {
    let folder = try TemporaryDirectory()
    try DaemonTests.write(DaemonTests.bundle("hello"), to: folder.file("bundles/home.js"))
    try await Daemon.running(folder.file("bundles"), folder) { daemon in
      let metrics = try StrictMetrics(
        try await daemon.get("/metrics", ["Accept": "application/openmetrics-text"]).text)
      #expect(metrics.value("renderhost_ready", [:]) == 1)
      for check in ["store", "release", "workers"] { #expect(metrics.value("renderhost_check", ["check": check]) == 1) }
      #expect(
        metrics.samples.contains { $0.name == "renderhost_build_info" && $0.labels["version"] == HostVersion.current })
      #expect(metrics.value("renderhost_store_free_bytes", [:]).map { $0 > 0 } == true)
      #expect(metrics.value("renderhost_certificate_end_seconds", [:]) == nil)
      #expect(!daemon.said.contains("another renderhost"))
      let other = try RunningProgram(
        Daemon.executable,
        ["--bundles", folder.file("bundles"), "--store", folder.file("served"), "--listen", "127.0.0.1:0"])
      try await other.wait(for: .error) { $0.contains("another renderhost uses the store \(folder.file("served"))") }
      other.send(SIGTERM)
      _ = await other.result()
      #expect(try await daemon.get("/readyz").text.contains(#""name":"store","ok":true"#))
    }
  }

  @Test("the status lists bundles, pages, workers and failures")
  func statusContents() async throws {
    let folder = try TemporaryDirectory()
    try DaemonTests.write(DaemonTests.bundle("hello") + "\n" + Self.text, to: folder.file("bundles/home.js"))
    try DaemonTests.write(Script.head + "throw new Error('broken')", to: folder.file("bundles/broken.js"))
    try DaemonTests.write(Script.endless, to: folder.file("bundles/hang.js"))
    try await Daemon.running(folder.file("bundles"), folder, ["--page-time", "0.3"]) { daemon in
      let began = Date()
      _ = try await daemon.get("/bundles/home.js", ["Accept-Encoding": "gzip"])
      #expect(try await daemon.post("/pages", #"{"name":"home"}"#).status == 201)
      _ = try await daemon.get("/render?name=home")
      #expect(try await daemon.get("/render?name=broken").status == 422)
      for _ in 1...3 { _ = try await daemon.get("/render?name=hang") }
      #expect(try await daemon.get("/render?name=hang").status == 403)
      try await daemon.until("two workers are ready") { try await daemon.workers().count == 2 }
      let killed = try #require(try await daemon.workers().first)
      kill(killed, SIGKILL)
      try await daemon.until("another has taken its place") {
        let workers = try await told(by: daemon).workers
        return workers.filter { $0.state == "ready" }.count == 2 && !workers.contains { $0.pid == killed }
      }
      let status = try await told(by: daemon)
      #expect(status.failures.contains { $0.kind == "worker" && $0.message.contains("signal 9") })
      #expect(status.workers.allSatisfy { $0.started != nil })

      let home = try #require(status.bundles.first { $0.name == "home" })
      #expect(home.opens == 2 && home.state == .ready)
      #expect(try #require(home.compressed) < home.size)
      let hang = try #require(status.bundles.first { $0.name == "hang" })
      #expect(hang.state == .barred)
      #expect(hang.reason?.hasPrefix("\(daemon.origin)/bundles/hang.js is barred for ") == true)
      #expect(hang.compressed == nil && hang.opens == 0)

      let page = try #require(status.pages.first)
      #expect(page.worker.map { $0 >= 1 } == true && page.entry != nil)
      #expect(Set(status.failures.map(\.kind)) == ["page", "worker"])
      #expect(status.failures.allSatisfy { $0.time > began - 2 && $0.time <= Date() })
      #expect(status.failures.map(\.time) == status.failures.map(\.time).sorted(by: >))
      #expect(status.failures.contains { $0.subject == "\(daemon.origin)/bundles/broken.js" })
      #expect(try #require(status.release?.verified) > began - 60)
      // The only path of this machine is that of the folder, which the operator has named.
      #expect(!(try await daemon.get("/status").text.contains("file:")))
      #expect(!(try await daemon.get("/pages/barred").text.contains("file:")))
    }
  }

  @Test("the metrics of workers do not grow with replacements")
  func workerMetrics() async throws {
    let folder = try TemporaryDirectory()
    try DaemonTests.write(DaemonTests.bundle("hello"), to: folder.file("bundles/home.js"))
    try await Daemon.running(folder.file("bundles"), folder) { daemon in
      for kills in 1...4 {
        try await daemon.until("two workers are ready") {
          try await told(by: daemon).workers.map(\.state) == ["ready", "ready"]
        }
        kill(try #require(try await daemon.workers().first), SIGKILL)
        try await daemon.until("it is replaced") {
          let metrics = try StrictMetrics(try await daemon.get("/metrics").text)
          let ready = metrics.value("renderhost_workers", ["state": "ready"])
          return metrics.value("renderhost_worker_kills_total", ["reason": "ended"]) == Double(kills) && ready == 2
        }
      }
      try await daemon.until("the one that was killed last is gone") {
        let metrics = try StrictMetrics(try await daemon.get("/metrics").text)
        return ["starting", "busy", "ending"].allSatisfy { metrics.value("renderhost_workers", ["state": $0]) == 0 }
      }
      let metrics = try StrictMetrics(try await daemon.get("/metrics").text)
      let slots = metrics.samples.filter { $0.name == "renderhost_worker_resident_bytes" }
      #expect(slots.compactMap { $0.labels["slot"] } == ["1", "2"])
      #expect(slots.allSatisfy { $0.value > 1_000_000 })
      #expect(try await daemon.post("/pages", #"{"name":"home"}"#).status == 201)
      let open = try StrictMetrics(try await daemon.get("/metrics").text)
      #expect(open.value("renderhost_pages", ["phase": "live"]) == 1)
      #expect(open.value("renderhost_pages", ["phase": "opening"]) == 0)
    }
  }
}
