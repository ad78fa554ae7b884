import HTTPTypes
import LivePages
import PageKit
import TestServers
import Testing

@testable import RenderHost

@Suite(.serialized) struct EventStreamTests {
  /// Reads a stream on its own connection.
  private func watch(_ farm: PageFarm, _ id: String, after last: Int? = nil) async throws -> String {
    let url = try #require(PageURL("http://127.0.0.1:\(farm.client.port)/pages/\(id)/events"))
    var head = try #require(HTTPRequest(url: url))
    if let last { head.headerFields[try #require(HTTPField.Name("Last-Event-ID"))] = String(last) }
    let transport = try CurlTransport()
    var request = TransportRequest(head)
    request.limits.lowSpeedBytesPerSecond = 0
    let response = try await transport.send(request)
    defer { withExtendedLifetime(transport) {} }
    return String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self)
  }

  @Test("events have ids, and a stream resumes after the last one")
  func resumedStream() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      let id = try await farm.open("counter")
      let log = try await farm.log(of: id)
      try await farm.until { await log.names(after: 0).contains("rendered") }
      let before = log.lastID
      let ref = try await farm.ask(.get, "/pages/\(id)").json["tree"]["children"].list.first?["ref"].text ?? ""
      _ = try await farm.ask(.post, "/pages/\(id)/fire", #"{"ref":"\#(ref)","type":"click"}"#)
      try await farm.until { log.lastID > before }
      // The stream ends with the page.
      async let whole = watch(farm, id)
      async let rest = watch(farm, id, after: before)
      try await farm.until { log.watchers == 2 }
      _ = try await farm.ask(.delete, "/pages/\(id)")
      let all = try await whole
      #expect(all.contains("id: 1\nevent: phase\n"))
      #expect(all.contains("event: commands\ndata: [{"))
      #expect(all.contains("event: closed"))
      let later = try await rest
      #expect(!later.contains("id: \(before)\n"))
      #expect(later.contains("id: \(before + 1)\n"))
      #expect(later.contains("clicks: 1"))
    }
  }

  @Test("a silent stream has heartbeats")
  func heartbeats() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      let id = try await farm.open("counter")
      // Otherwise a heartbeat may come before the page has rendered.
      let log = try await farm.log(of: id)
      try await farm.until { await log.names(after: 0).contains("rendered") }
      let stream = try RawClient(port: farm.client.port)
      stream.send("GET /pages/\(id)/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      // Events and heartbeats come on one connection, which stays open.
      let text = try await stream.read(until: "\r\n:\n\n")
      #expect(text.contains("event: rendered"))
    }
  }

  @Test("a slow reader learns how many events it missed")
  func missedEvents() async {
    let log = EventLog()
    for number in 1...(EventLog.countLimit + 10) { log.append("log", Array("\(number)".utf8)) }
    guard case .events(let events, let missed) = await log.next(after: 2, within: .zero) else {
      Issue.record("nothing came")
      return
    }
    #expect(missed == 8)
    #expect(events.count == EventLog.countLimit)
    log.append("commands", [UInt8](repeating: 65, count: EventLog.byteLimit))
    guard case .events(let long, _) = await log.next(after: log.lastID - 1, within: .zero) else { return }
    #expect(long.first?.name == "changed")
  }

  @Test("a reader waits for the next event")
  func waitingWatcher() async {
    let log = EventLog()
    async let batch = log.next(after: 0, within: .seconds(20))
    log.append("log", [])
    #expect(await batch == .events([EventLog.Event(id: 1, name: "log", details: [])], missed: 0))
    #expect(await log.next(after: 1, within: .milliseconds(1)) == .silence)
    log.end()
    #expect(await log.next(after: 1, within: .seconds(20)) == .ended)
  }
}
