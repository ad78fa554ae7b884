import LivePages
import Testing

/// The events that viewers of a page are sent.
struct LiveViewerTests {
  private static func event(_ id: Int, _ name: String = LiveEvent.patch, bytes: Int = 10) -> EventLog.Event {
    EventLog.Event(id: id, name: name, details: [UInt8](repeating: 65, count: bytes))
  }

  @Test("a viewer gets the events after its place, in pieces")
  func pieces() {
    var viewer = LiveViewer(after: 4)
    let (short, long) = (Self.event(5), Self.event(6, bytes: LiveViewer.pieceLimit))
    #expect(viewer.take(.events([short, long], missed: 0)) == .send([short]))
    #expect(viewer.place == 5)
    // An event that is longer than a piece is one by itself.
    #expect(viewer.take(.events([long, Self.event(7)], missed: 0)) == .send([long]))
    #expect(viewer.place == 6)
    #expect(viewer.take(.silence) == .beat)
    #expect(viewer.take(.ended) == .end)
  }

  @Test("a viewer that has missed events fetches the whole page")
  func missedEvents() {
    var viewer = LiveViewer(after: 4)
    #expect(viewer.take(.events([Self.event(9), Self.event(10)], missed: 4)) == .refetch(after: 10))
    #expect(viewer.place == 10)
  }

  @Test("a patch that was too long to be kept has the viewer fetch the whole page, after what came before it")
  func longPatch() {
    var viewer = LiveViewer(after: 0)
    let (first, long) = (Self.event(1), Self.event(2, EventLog.longName))
    #expect(viewer.take(.events([first, long], missed: 0)) == .send([first]))
    #expect(viewer.take(.events([long], missed: 0)) == .refetch(after: 2))
  }

  @Test("a place before the first event is the beginning")
  func negativePlace() { #expect(LiveViewer(after: -5).place == 0) }

  @Test("a slow viewer costs no more than its bound, however much its page changes")
  func slowViewer() async {
    let log = EventLog()
    var viewer = LiveViewer(after: 0)
    for _ in 0..<2_000 { log.append(LiveEvent.patch, [UInt8](repeating: 65, count: 1_000)) }
    // It has read nothing meanwhile.
    #expect(viewer.take(await log.next(after: viewer.place, within: .zero)) == .refetch(after: 2_000))
    for _ in 0..<200 { log.append(LiveEvent.patch, [UInt8](repeating: 65, count: 1_000)) }
    guard case .send(let piece) = viewer.take(await log.next(after: viewer.place, within: .zero)) else {
      Issue.record("it was not sent what came after")
      return
    }
    #expect(piece.first?.id == 2_001 && piece.map(\.details.count).reduce(0, +) <= LiveViewer.pieceLimit)
  }

  @Test(
    "viewers are told of what concerns them",
    arguments: [
      ("patch", "patch"), ("navigate", "navigate"), ("message", "message"), ("exception", "exception"),
      ("failed", "ended"), ("commands", nil), ("log", nil), ("phase", nil), ("made up", nil),
    ] as [(String, String?)])
  func told(_ event: String, _ name: String?) { #expect(LiveEvent.told(of: event) == name) }
}
