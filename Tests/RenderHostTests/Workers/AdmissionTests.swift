import Foundation
import HTTPTypes
import PageKit
import PageTesting
import PageWorkers
import TestServers
import Testing

@testable import RenderHost

/// Many healthy pages at once: requests wait or are refused, no worker is killed, and no bundle is barred.
@Suite(.serialized) struct AdmissionTests {
  /// A page of a hundred cells, with some work.
  private static let cells = Script.page(
    """
    for (var i = 0; i < 100; i++) {
      var e = d.createElement('div', { style: { color: 'red' } }), t = d.createElement('text', { attr: { value: 'cell ' + i } })
      e.appendChild(t); e.addEvent('click', function () {}); b.appendChild(e)
    }
    var began = Date.now(); while (Date.now() - began < 5) {}
    """)

  /// A page with a request that is held until it is released.
  private static let waiting = Script.page(
    "weex.requireModule('stream').fetch({ url: 'held.json', type: 'text' }, function () {})")

  @Test("64 clients of a healthy page get it or a 503; no worker is killed, and no bundle is barred")
  func loadAloneKillsNothing() async throws {
    try await PageFarm.running(["cells": Self.cells], change: { $0.workerMemory = 256 << 20 }) { farm in
      let statuses = try await withThrowingTaskGroup(of: [Int].self) { group in
        for _ in 0..<64 {
          group.addTask {
            var statuses: [Int] = []
            for _ in 0..<4 { statuses.append(try await farm.ask(.get, "/render?name=cells&format=outline").status) }
            return statuses
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(Set(statuses).isSubset(of: [200, 503]))
      #expect(statuses.contains(200))
      let status = await farm.running.workers.status()
      #expect(status.workers.map(\.kills) == [0, 0], "\(farm.record.failures.latest)")
      #expect(status.barred.isEmpty)
      #expect(farm.running.workers.admission.counts == (0, 0))
    }
  }

  /// Occupies every place for calls in the workers.
  private static func fillingPlaces(
    _ farm: PageFarm, _ body: @escaping @Sendable () async throws -> Void
  ) async throws -> [PageFarm.Answer] {
    farm.origin.hold("/b/held.json")
    return try await withThrowingTaskGroup(of: PageFarm.Answer.self) { group in
      for _ in 0..<PageAdmission.callsPerWorker {
        group.addTask { try await farm.ask(.get, "/render?name=waiting&settle=60&format=outline") }
      }
      try await farm.until { farm.running.workers.admission.counts.running == PageAdmission.callsPerWorker }
      try await body()
      farm.origin.release("/b/held.json")
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }

  @Test("a call beyond the queue is refused at once, with a Retry-After")
  func aFullQueueRefuses() async throws {
    try await PageFarm.running(
      ["waiting": Self.waiting, "counter": Script.counter], workers: 1, pageTime: .seconds(60),
      change: { ($0.waitingCalls, $0.waitingTime) = (1, .seconds(60)) }
    ) { farm in
      let queued = Monitor<Task<Int, any Error>?>(nil)
      let answers = try await Self.fillingPlaces(farm) {
        queued.change { $0 = Task { try await farm.ask(.get, "/render?name=counter").status } }
        try await farm.until { farm.running.workers.admission.counts.waiting == 1 }
        let refused = try await farm.ask(.get, "/render?name=counter")
        #expect(refused.status == 503)
        #expect(refused.headers[.retryAfter] == "1")
        #expect(refused.json["error"].text?.contains("--page-queue") == true, "\(refused.text)")
      }
      #expect(answers.map(\.status) == Array(repeating: 200, count: answers.count))
      #expect(try await queued.read { $0 }?.value == 200)
    }
  }

  @Test("a call that has waited for the limit is refused")
  func aLongWaitEnds() async throws {
    try await PageFarm.running(
      ["waiting": Self.waiting, "counter": Script.counter], workers: 1, pageTime: .seconds(60),
      change: { $0.waitingTime = .milliseconds(20) }
    ) { farm in
      _ = try await Self.fillingPlaces(farm) {
        let refused = try await farm.ask(.get, "/render?name=counter")
        #expect(refused.status == 503)
        #expect(refused.json["error"].text?.contains("busy for 0.02 s (--page-wait)") == true, "\(refused.text)")
      }
      #expect(try await farm.ask(.get, "/render?name=counter").status == 200)
    }
  }

  @Test("pages are not rendered for clients that disconnected while they waited")
  func disconnectedClients() async throws {
    let folder = try TemporaryDirectory()
    let origin = try await FaultOrigin.start()
    origin.serve("/held.json", Array("{}".utf8))
    origin.hold("/held.json")
    let waiting = Script.page(
      "weex.requireModule('stream').fetch({ url: '\(origin.url(for: "/held.json"))', type: 'text' }, function () {})")
    let bundles = folder.file("bundles")
    try FileManager.default.createDirectory(atPath: bundles, withIntermediateDirectories: true)
    for (name, script) in [("waiting", waiting), ("counter", Script.counter)] {
      try Data(script.utf8).write(to: URL(fileURLWithPath: "\(bundles)/\(name).js"))
    }
    let flags = ["--workers", "1", "--allow-origin", origin.url(for: ""), "--page-time", "60", "--page-wait", "60"]
    try await Daemon.running(bundles, folder, flags) { daemon in
      func value(_ name: String, _ labels: [String: String] = [:]) async throws -> Double? {
        try StrictMetrics(try await daemon.get("/metrics").text).value(name, labels)
      }
      let holders = try (0..<PageAdmission.callsPerWorker).map { _ in try RawClient(port: daemon.port()) }
      for holder in holders {
        holder.send("GET /render?name=waiting&settle=60 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
      }
      try await daemon.until("the places are taken") {
        try await value("renderhost_page_calls", ["state": "running"]) == Double(holders.count)
      }
      do {
        let clients = try (0..<20).map { _ in try RawClient(port: daemon.port()) }
        for client in clients { client.send("GET /render?name=counter HTTP/1.1\r\nHost: localhost\r\n\r\n") }
        try await daemon.until("they wait") {
          try await value("renderhost_page_calls", ["state": "waiting"]) == Double(clients.count)
        }
        withExtendedLifetime(clients) {}
      }
      try await daemon.until("nobody waits for those who have gone") {
        try await value("renderhost_page_calls", ["state": "waiting"]) == 0
      }
      origin.release("/held.json")
      #expect(try await daemon.get("/render?name=counter").status == 200)
      for holder in holders { #expect(try await holder.readToEnd().hasPrefix("HTTP/1.1 200 ")) }
      #expect(try await value("renderhost_pages_opened_total", ["outcome": "live"]) == Double(holders.count + 1))
    }
    try await origin.stop()
  }

  @Test("pages are opened until the workers' memory is full; then new ones are refused, and open ones stay")
  func fullMemory() async throws {
    try await PageFarm.running(
      ["cells": Self.cells], workers: 1, change: { ($0.workerMemory, $0.pages) = (200 << 20, 1_000) }
    ) { farm in
      var ids: [String] = []
      var refused: PageFarm.Answer?
      while refused == nil, ids.count < 500 {
        let answer = try await farm.ask(.post, "/pages", #"{"name":"cells"}"#)
        if let id = answer.json["id"].text { ids.append(id) } else { refused = answer }
      }
      #expect(refused?.status == 503)
      #expect(refused?.json["error"].text?.contains("--worker-memory") == true, "\(refused?.text ?? "")")
      #expect(ids.count > 5)
      for id in ids { #expect(try await farm.ask(.get, "/pages/\(id)").status == 200) }
      #expect(await farm.running.workers.status().workers.map(\.kills) == [0])
    }
  }

  @Test("pages of an ended worker are reopened in the order of their last use, the latest first")
  func reopeningOrder() async throws {
    let clock = Monitor(ContinuousClock.now)
    try await PageFarm.running(["counter": Script.counter], workers: 1, now: { clock.read { $0 } }) { farm in
      var ids: [String] = []
      for _ in 0..<6 { ids.append(try await farm.open("counter")) }
      for id in [ids[3], ids[0], ids[5], ids[1], ids[4], ids[2]] {
        clock.change { $0 += .seconds(1) }
        #expect(try await farm.ask(.get, "/pages/\(id)").status == 200)
      }
      let before = try #require(await farm.running.workers.status().workers.first)
      kill(before.pid, SIGKILL)
      try await farm.until {
        await farm.running.directory.pages.values.allSatisfy { $0.reopened == 1 && $0.reopening == nil }
      }
      let pages = await farm.running.directory.pages
      let order = pages.values.sorted { $0.number < $1.number }.map(\.id)
      // Two pages are reopened at once, in two lines that take every other page.
      for line in [[ids[2], ids[1], ids[0]], [ids[4], ids[5], ids[3]]] {
        #expect(order.filter(line.contains) == line, "\(order)")
      }
    }
  }
}
