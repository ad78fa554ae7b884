import Foundation
import NIOCore
import PageKit
import Testing

@testable import PageWorkers

@Suite struct WorkerSocketTests {
  /// The daemon's end of a worker's socket.
  private struct Daemon {
    let descriptor: Int32
    let worker: WorkerSocket

    init() throws {
      var ends: [Int32] = [-1, -1]
      try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
      descriptor = ends[0]
      // A worker's socket is open as long as its process.
      worker = WorkerSocket(ends[1])
    }

    func bytes(_ count: Int) throws -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: count)
      let received = recv(descriptor, &bytes, count, Int32(MSG_WAITALL))
      try #require(received == count)
      return bytes
    }

    func next() throws -> (message: WorkerMessage, payload: [UInt8]) {
      let length = try bytes(4).reduce(0) { $0 << 8 | Int($1) }
      return try Frame.decode(WorkerMessage.self, ByteBuffer(bytes: try bytes(length)))
    }

    func send(_ bytes: [UInt8]) throws {
      try #require(Foundation.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
    }
  }

  @Test("messages arrive whole and in order, also those that the socket does not take at once")
  func order() throws {
    let daemon = try Daemon()
    // More than a socket's buffer; some are longer than the whole of it.
    let sizes = (0..<200).map { $0 % 50 == 7 ? 400_000 : $0 * 31 % 9_000 }
    for round in 0..<2 {
      for (index, size) in sizes.enumerated() {
        daemon.worker.post(.event(page: UInt64(index), name: "\(round)"), [UInt8](repeating: UInt8(index), count: size))
      }
      for (index, size) in sizes.enumerated() {
        let (message, payload) = try daemon.next()
        guard case .event(UInt64(index), "\(round)") = message else {
          Issue.record("\(message) at \(index)")
          return
        }
        #expect(payload == [UInt8](repeating: UInt8(index), count: size))
      }
    }
    #expect(daemon.worker.hasRoom)
  }

  @Test("a call whose answer is above the limit of a frame fails with the size and the limit")
  func longAnswer() throws {
    let daemon = try Daemon()
    var reply = PageReply()
    reply.messages = [PageMessage(kind: .toast, text: String(repeating: "x", count: Frame.limit))]
    daemon.worker.post(.done(call: 7, reply))
    daemon.worker.post(.done(call: 8, PageReply()), [UInt8](repeating: 0, count: Frame.limit))
    for call: UInt64 in 7...8 {
      let (message, payload) = try daemon.next()
      guard case .failed(call, .noView(let reason)) = message else {
        Issue.record("\(message)")
        return
      }
      let sentence = #/the page's answer cannot be sent: a message of (\d+) bytes is over the limit of 67108864/#
      let size = try #require(reason.wholeMatch(of: sentence)?.1)
      #expect(Int(size).map { $0 > Frame.limit } == true && payload.isEmpty, "\(reason)")
    }
  }

  @Test("a call that is above the limit of a frame fails with the size and the limit")
  func longCall() async throws {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    let link = try await WorkerLink(socket: ends[0])
    let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
    let running = Task { await link.run(ready: { isReady.finish() }, receive: { _, _ in }) }
    for await _ in ready {}
    let error = await #expect(throws: PageFault.self) {
      let long = [UInt8](repeating: 0, count: Frame.limit)
      _ = try await link.call(1, within: .seconds(60), long) { .end(call: $0, page: 1) }
    }
    guard case .refused(let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.hasPrefix("the call of the page cannot be sent: ") && reason.hasSuffix("limit of \(Frame.limit)"))
    close(ends[1])
    _ = await running.value
  }

  @Test("an event above the limit of a frame is a line of the log, and later ones arrive")
  func longEvent() throws {
    let daemon = try Daemon()
    daemon.worker.post(.event(page: 1, name: "patch"), [UInt8](repeating: 0, count: Frame.limit))
    daemon.worker.post(.event(page: 1, name: "later"))
    guard case .log("warning", let text) = try daemon.next().message else {
      Issue.record("no line of the log")
      return
    }
    #expect(text.hasPrefix(#"an event "patch" of a page is lost: a message of "#) && text.hasSuffix("\(Frame.limit)"))
    guard case .event(1, "later") = try daemon.next().message else {
      Issue.record("no event")
      return
    }
  }

  @Test("a question above the limit of a frame fails, and no longer counts")
  func longQuestion() async throws {
    let daemon = try Daemon()
    let relay = HostRelay(daemon.worker)
    relay.limit(questions: 1)
    let long = PageMessage(kind: .alert, text: String(repeating: "x", count: Frame.limit), buttons: ["OK"])
    var arrivals: [HostRelay.Arrival] = []
    for await arrival in relay.ask(.modal(long), page: 1) { arrivals.append(arrival) }
    guard arrivals.count == 1, case .failed(let reason) = arrivals[0] else {
      Issue.record("\(arrivals.count) answers")
      return
    }
    #expect(
      reason.hasPrefix("the page's request cannot be sent: a message of ") && reason.hasSuffix("\(Frame.limit)"))
    _ = relay.ask(.storedKeys, page: 1)
    guard case .ask(_, 1, .storedKeys) = try daemon.next().message else {
      Issue.record("no question")
      return
    }
  }

  @Test("a worker reads messages with and without bytes, and nothing after one that is none")
  func reading() throws {
    let daemon = try Daemon()
    try daemon.send(Array(try Frame.encode(HostMessage.close(page: 7), [1, 2, 3]).readableBytesView))
    try daemon.send(Array(try Frame.encode(HostMessage.unfollow(page: 8)).readableBytesView))
    let first = try #require(daemon.worker.read())
    guard case .close(page: 7) = first.0, first.1 == [1, 2, 3] else {
      Issue.record("\(first)")
      return
    }
    let second = try #require(daemon.worker.read())
    guard case .unfollow(page: 8) = second.0, second.1.isEmpty else {
      Issue.record("\(second)")
      return
    }
    // The message would be longer than its frame.
    try daemon.send([0, 0, 0, 8, 0, 0, 0, 5, 1, 2, 3, 4])
    #expect(daemon.worker.read() == nil)
  }

  @Test(
    "lengths are those of a frame up to its limit",
    arguments: [
      ([0, 0, 0, 4, 0, 0, 0, 0], [0, 0]), ([0, 0, 1, 0, 0, 0, 0, 252], [252, 0]),
      ([0, 0, 1, 0, 0, 0, 0, 2], [2, 250]),
      ([0, 0, 1, 0, 0, 0, 0, 253], nil), ([0, 0, 0, 3, 0, 0, 0, 0], nil), ([4, 0, 0, 1, 0, 0, 0, 2], nil),
      ([255, 255, 255, 255, 255, 255, 255, 255], nil), ([0, 0, 0, 4], nil),
    ] as [([UInt8], [Int]?)])
  func lengths(_ bytes: [UInt8], _ found: [Int]?) {
    #expect(Frame.lengths(bytes).map { [$0.message, $0.payload] } == found)
  }
}
