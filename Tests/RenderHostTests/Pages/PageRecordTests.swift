import Foundation
import HTTPTypes
import PageKit
import PageWorkers
import Testing

@testable import RenderHost
@testable import ServerKit

/// The counts of pages, and the records of failed ones.
@Suite(.serialized) struct PageRecordTests {
  private static let pages = "renderhost_pages_opened_total"

  @Test("every opening is counted by its result")
  func openingMetrics() async throws {
    try await PageFarm.running(
      ["counter": Script.counter, "throws": Script.head + "throw new Error('broken')", "hang": Script.endless],
      workers: 1, pageTime: .milliseconds(300)
    ) { farm in
      _ = try await farm.open("counter")
      #expect(try await farm.ask(.get, "/render?name=counter").status == 200)
      #expect(try await farm.ask(.post, "/pages", #"{"name":"throws"}"#).status == 422)
      #expect(try await farm.ask(.get, "/render?name=nothing").status == 404)
      for _ in 1...3 { #expect(try await farm.ask(.get, "/render?name=hang").status == 504) }
      #expect(try await farm.ask(.get, "/render?name=hang").status == 403)
      #expect(try farm.metric(Self.pages, ["outcome": "live"]) == 2)
      #expect(try farm.metric(Self.pages, ["outcome": "failed"]) == 1)
      #expect(try farm.metric(Self.pages, ["outcome": "killed"]) == 3)
      #expect(try farm.metric(Self.pages, ["outcome": "refused"]) == 2)
      #expect(try farm.metric("renderhost_refusals_total", ["reason": "barred"]) == 1)
      let counter = farm.origin.url(for: "/b/counter.js")
      #expect(await farm.running.directory.opens == ["counter.js": 2], "\(counter)")
      let failures = farm.record.failures.latest.filter { $0.kind == "page" }
      #expect(failures.map(\.subject) == [farm.origin.url(for: "/b/hang.js"), farm.origin.url(for: "/b/throws.js")])
      #expect(failures.first?.message.contains("script ran for") == true, "\(failures)")
      #expect(failures.last?.message.contains("broken") == true)
    }
  }

  /// On a busy machine the engine may stop one run of a script, and the daemon kills the worker of the next.
  @Test("a hang is recorded once, however it was stopped")
  func hangRecord() {
    let record = HostRecord()
    let limit = 0.3
    for took in [nil, 0.6, 0.7] {
      let reason = KillReason.time(took: took, limit: limit)
      record.failed(.killed(url: "/b/hang.js", reason), opening: "/b/hang.js")
      record.killed(reason, bundles: ["/b/hang.js"])
    }
    let failures = record.failures.latest
    #expect(failures.filter { $0.kind == "page" }.map(\.subject) == ["/b/hang.js"])
    #expect(failures.filter { $0.kind == "worker" }.map(\.subject) == ["/b/hang.js"])
    #expect(failures.allSatisfy { $0.message.contains("script ran for 0.7 s") }, "\(failures)")
    record.killed(.memory(found: 2 << 30, limit: 1 << 30), page: "/b/hang.js")
    #expect(record.failures.latest.count { $0.kind == "page" } == 2)
  }

  @Test("entries are timed by kind")
  func entryTimes() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      let id = try await farm.open("counter")
      let ref = try await farm.ask(.get, "/pages/\(id)").json["tree"]["children"].list.first?["ref"].text ?? ""
      for _ in 1...2 {
        #expect(
          try await farm.ask(.post, "/pages/\(id)/fire", #"{"ref":"\#(ref)","type":"click"}"#).status == 200)
      }
      #expect(try await farm.ask(.post, "/pages/\(id)/refresh", #"{"data":{"a":1}}"#).status == 200)
      let name = "renderhost_page_entry_seconds"
      #expect(try farm.metric("\(name)_count", ["kind": "render"]) == 1)
      #expect(try farm.metric("\(name)_count", ["kind": "fire"]) == 2)
      #expect(try farm.metric("\(name)_count", ["kind": "refresh"]) == 1)
      #expect(try #require(try farm.metric("\(name)_sum", ["kind": "render"])) > 0)
    }
  }

  @Test("invalid times of a worker are limited to an hour")
  func limitedTimes() throws {
    let record = HostRecord()
    for seconds in [Double.nan, .infinity, -1, 1e300] { record.entered("render", seconds: seconds) }
    let text = record.metrics.registry.text(.prometheus)
    #expect(try StrictMetrics(text).value("renderhost_page_entry_seconds_sum", ["kind": "render"]) == 3_600)
  }

  @Test("an error that a live page throws by itself is recorded")
  func liveErrors() async throws {
    let script = Script.page(
      "b.addEvent('click', function () { throw new Error('not now') })")
    try await PageFarm.running(["page": script], workers: 1) { farm in
      let id = try await farm.open("page")
      #expect(farm.record.failures.latest.isEmpty)
      let answer = try await farm.ask(.post, "/pages/\(id)/fire", #"{"ref":"_root","type":"click"}"#)
      #expect(answer.status == 422, "\(answer)")
      try await farm.until { !farm.record.failures.latest.isEmpty }
      let failure = try #require(farm.record.failures.latest.first)
      #expect(failure.kind == "page" && failure.message.contains("not now"))
      #expect(failure.subject == farm.origin.url(for: "/b/page.js"))
    }
  }

  @Test("refused fetches and pages beyond the limit are counted")
  func refusalMetrics() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1, change: { $0.pages = 1 }) { farm in
      for path in ["/render?url=https://other.example/a.js", "/resources?url=https://other.example/a.png"] {
        #expect(try await farm.ask(.get, path).status == 403)
      }
      _ = try await farm.open("counter")
      #expect(try await farm.ask(.post, "/pages", #"{"name":"counter"}"#).status == 503)
      #expect(try farm.metric("renderhost_refusals_total", ["reason": "origin"]) == 2)
      #expect(try farm.metric("renderhost_refusals_total", ["reason": "pages"]) == 1)
    }
  }
}
