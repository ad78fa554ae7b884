import Foundation
import PageKit
import PageTesting
import Testing

@testable import RenderHost

@Suite(.timeLimit(.minutes(2)))
struct ReleaseEventsTests {
  /// Reads a stream of events until it has this number of them.
  private static func events(_ count: Int, _ host: ServingFixture, after id: String? = nil) async throws -> [String] {
    let fields = id.map { ["Last-Event-ID": $0] } ?? [:]
    var request = host.request("/releases/events", fields)
    // As those who listen do: on a busy machine the next event may take a while.
    request.limits.lowSpeedBytesPerSecond = 0
    let response = try await host.transport.send(request)
    #expect(response.head.status == .ok)
    #expect(response.head.headerFields[.contentType] == "text/event-stream")
    var text = ""
    for try await chunk in response.body {
      text += String(decoding: chunk, as: UTF8.self)
      let events = text.components(separatedBy: "\n\n").dropLast().filter { $0.hasPrefix("event:") }
      if events.count >= count { return events }
    }
    return []
  }

  private static func id(_ event: String) throws -> String {
    let line = try #require(event.split(separator: "\n").first { $0.hasPrefix("id: ") })
    return String(line.dropFirst(4))
  }

  @Test("a new release is an event with its changes")
  func releaseEvent() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      async let told = Self.events(2, host)
      try await Self.waitForSubscriber(host)
      try host.write("// new", "home.js")
      let events = try await told
      #expect(events[0].hasPrefix("event: release\nid: "))
      let md5 = try ContentDigests(of: Array("// new".utf8)).md5
      #expect(events[1].contains("\"changed\":[{\"md5\":\"\(md5)\",\"name\":\"home\",\"url\":\"/bundles/home.js\"}]"))
      #expect(events[1].contains("\"release\":\"\(try await host.manifest().release)\""))
    }
  }

  @Test("a client that reconnects misses no event")
  func resumedEvents() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let first = try Self.id(try await Self.events(1, host)[0])
      for number in 1...3 {
        try host.write("// \(number)", "home.js")
        try await host.waitForRelease("home.js", "// \(number)")
      }
      let missed = try await Self.events(3, host, after: first)
      #expect(try missed.map(Self.id) == host.feed.history.dropFirst().map { "\($0.id)" })
      // A client with an unknown number, or none, gets the current release.
      let newest = try #require(host.feed.history.last)
      #expect(
        try Self.id(try await Self.events(1, host, after: "\(newest.id.release + 1_000_000)")[0]) == "\(newest.id)")
      #expect(try Self.id(try await Self.events(1, host, after: "x")[0]) == "\(newest.id)")
    }
  }

  @Test("a client that is up to date gets only the next event")
  func currentClient() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let current = try #require(host.feed.history.last)
      async let told = Self.events(1, host, after: "\(current.id)")
      try await Self.waitForSubscriber(host)
      try host.write("// next", "home.js")
      #expect(try Self.id(try await told[0]) != "\(current.id)")
    }
  }

  @Test(
    "the position of an event is its release, and its status if there is one",
    arguments: [("12", 12, 0), ("12.7", 12, 7)] as [(String, Int64, Int64)])
  func positions(_ text: String, _ release: Int64, _ status: Int64) {
    let id = ReleaseEvent.ID(release: release, status: status)
    #expect(ReleaseEvent.ID(text) == id)
    #expect("\(id)" == text)
    #expect(id < ReleaseEvent.ID(release: release, status: status + 1))
    #expect(id < ReleaseEvent.ID(release: release + 1))
  }

  @Test("other texts are no positions", arguments: ["", "x", "12.", ".7", "12.0", "12.x", "12.7.1"])
  func noPositions(_ text: String) {
    #expect(ReleaseEvent.ID(text) == nil)
  }

  @Test("a stream without events has heartbeats")
  func heartbeats() async throws {
    let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
    var beats = 0
    for await isHeartbeat in Serving.wakes(changes, every: .milliseconds(10)) where isHeartbeat {
      beats += 1
      if beats == 3 { break }
    }
    continuation.finish()
    #expect(beats == 3)
  }

  @Test("a client that disconnects is unsubscribed")
  func disconnectedClient() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      _ = try await Self.events(1, host)
      // The server notices the disconnection at its next write.
      for number in 1...100 where host.feed.subscriberCount > 0 {
        try host.write("// \(number)", "home.js")
        try await host.waitForRelease("home.js", "// \(number)")
      }
      #expect(host.feed.subscriberCount == 0)
    }
  }

  @Test("a shutdown ends event streams")
  func stoppedHost() async throws {
    let reading = Monitor<Task<Int, any Error>?>(nil)
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let task = Task {
        var text = ""
        for try await chunk in try await host.transport.send(host.request("/releases/events")).body {
          text += String(decoding: chunk, as: UTF8.self)
        }
        return text.components(separatedBy: "event: release").count - 1
      }
      reading.change { $0 = task }
      try await Self.waitForSubscriber(host)
    }
    // The transfer is complete, not cut.
    #expect(try await reading.read { $0 }?.value == 1)
  }

  @Test("releases are listed newest first")
  func releaseList() async throws {
    struct List: Decodable {
      struct Release: Decodable { let release: String, bundles: Int }
      let current: Release
      let history: [Release]
    }
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      try host.write("// new", "new.js")
      try await host.waitForRelease("new.js", "// new")
      let answer = try await host.get("/releases")
      let list = try JSONDecoder().decode(List.self, from: Data(answer.body))
      #expect(list.current.bundles == 2)
      #expect(list.history.map(\.bundles) == [2, 1])
      #expect(try await host.get("/releases", ["If-None-Match": try #require(answer["ETag"])]).status == 304)
    }
  }

  private static func waitForSubscriber(_ host: ServingFixture) async throws {
    let deadline = ContinuousClock.now + .seconds(20)
    while host.feed.subscriberCount == 0, ContinuousClock.now < deadline {
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}
