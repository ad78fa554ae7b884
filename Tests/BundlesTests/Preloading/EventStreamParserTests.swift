import PageTesting
import Testing

@testable import Bundles

/// HTML, “Server-sent events”, §9.2.6, with its examples.
struct EventStreamParserTests {
  private static func events(_ text: String) -> [ServerSentEvent] {
    var parser = EventStreamParser()
    return parser.receive(text.utf8)
  }

  private static func message(_ data: String, _ type: String = "message") -> ServerSentEvent {
    ServerSentEvent(type: type, data: data)
  }

  @Test(
    "events are parsed as in the standard's examples",
    arguments: [
      ("data: YHOO\ndata: +2\ndata: 10\n\n", ["YHOO\n+2\n10"]),
      (
        ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
        ["first event", "second event"]
      ),
      ("data\n\ndata\ndata\n\ndata:", ["", "\n"]),
      ("data:test\n\ndata: test\n\n", ["test", "test"]),
      ("data: \u{301}a\n\ndata:\u{301}b\n\n", ["\u{301}a", "\u{301}b"]),
      ("\u{FEFF}data: a\r\rdata: b\r\n\r\n: x\n\nevent: only\n\n", ["a", "b"]),
      ("retry: 10\nunknown: 1\ndata: ä ✓\n\n", ["ä ✓"]),
    ])
  func examples(_ text: String, _ data: [String]) {
    #expect(Self.events(text) == data.map { Self.message($0) })
  }

  @Test("events have types, and the stream has a last event ID")
  func typesAndIDs() {
    var parser = EventStreamParser()
    #expect(parser.receive("event: release\nid: 7\nretry: 2500\n".utf8).isEmpty)
    // The ID applies once the event is complete.
    #expect(parser.lastEventID == "")
    #expect(parser.receive("data: {}\n\n".utf8) == [Self.message("{}", "release")])
    #expect(parser.lastEventID == "7")
    #expect(parser.reconnectionTime == .milliseconds(2500))
    _ = parser.receive("id: a\0b\nretry: soon\ndata: half".utf8)
    let next = EventStreamParser(after: parser)
    #expect((next.lastEventID, next.reconnectionTime) == ("7", .milliseconds(2500)))
  }

  @Test("the bytes may arrive in pieces of any size")
  func pieces() {
    let text = "event: a\r\ndata: ✓ one\r\n\r\nid: 2\rdata: two\r\r"
    let whole = Self.events(text)
    #expect(whole.count == 2)
    for size in 1...7 {
      var parser = EventStreamParser()
      var bytes = Array(text.utf8)[...]
      var events: [ServerSentEvent] = []
      while !bytes.isEmpty {
        events += parser.receive(bytes.prefix(size))
        bytes = bytes.dropFirst(size)
      }
      #expect(events == whole, "\(size)")
    }
  }

  @Test("a line or an event that is too long is skipped, and the rest is read")
  func limits() {
    let long = String(repeating: "x", count: EventStreamParser.limit)
    #expect(Self.events("data: \(long)\n\ndata: next\n\n") == [Self.message("next")])
    let half = String(repeating: "x", count: EventStreamParser.limit / 2)
    #expect(Self.events("data: \(half)\ndata: \(half)\n\ndata: next\n\n") == [Self.message("next")])
    var parser = EventStreamParser()
    _ = parser.receive("id: \(String(repeating: "1", count: EventStreamParser.idLimit + 1))\ndata: a\n\n".utf8)
    #expect(parser.lastEventID == "")
  }

  @Test("arbitrary bytes do no harm")
  func arbitraryBytes() {
    var generator = SeededGenerator(seed: 3)
    let alphabet = Array("data:event:id:retry: \r\n\n\0é0".utf8) + [0xFF, 0x80]
    for _ in 0..<200 {
      var parser = EventStreamParser()
      for _ in 0..<20 {
        _ = parser.receive((0..<50).map { _ in alphabet.randomElement(using: &generator) ?? 0 })
      }
      #expect(parser.lastEventID.utf8.count <= EventStreamParser.idLimit)
    }
  }
}
