import Foundation
import Testing

@testable import CurlTransport

struct ConnectionSocketsTests {
  private let mailbox: CurlMailbox
  private let sockets: ConnectionSockets

  init() throws {
    mailbox = try CurlMailbox()
    sockets = try ConnectionSockets(mailbox: mailbox.descriptor)
  }

  /// Two ends of a connection.
  private static func pair() throws -> (ours: Int32, other: Int32) {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    return (ends[0], ends[1])
  }

  private func come(milliseconds: Int32 = 10_000) -> [Int32] {
    sockets.wait(milliseconds: milliseconds).map(\.socket)
  }

  @Test("events of a socket are reported in the direction that libcurl waits for")
  func directions() throws {
    let (ours, other) = try Self.pair()
    defer { for socket in [ours, other] { close(socket) } }
    sockets.wait(for: ours, .receiving)
    #expect(come(milliseconds: 0).isEmpty)
    write(other, "a", 1)
    #expect(sockets.wait(milliseconds: 10_000).map(\.directions) == [.receiving])
    sockets.wait(for: ours, .sending)
    #expect(sockets.wait(milliseconds: 10_000).map(\.directions) == [.sending])
    sockets.wait(for: ours, [.receiving, .sending])
    #expect(sockets.wait(milliseconds: 10_000).map(\.directions) == [[.receiving, .sending]])
  }

  @Test(
    "the end of a connection is reported in the directions that libcurl waits for",
    arguments: [ConnectionSockets.Directions.receiving, .sending])
  func end(direction: ConnectionSockets.Directions) throws {
    let (ours, other) = try Self.pair()
    defer { close(ours) }
    sockets.wait(for: ours, direction)
    close(other)
    #expect(sockets.wait(milliseconds: 10_000).map(\.directions) == [direction])
  }

  @Test("an idle connection that has unasked bytes is not reported, and is again for the next transfer")
  func idle() throws {
    let (ours, other) = try Self.pair()
    defer { close(other) }
    sockets.opened(ours)
    sockets.wait(for: ours, .receiving)
    sockets.wait(for: ours, [])
    write(other, "a", 1)
    #expect(come(milliseconds: 0).isEmpty)
    // Otherwise each wait would end at once. A signal that the process gets may end one or two.
    let end = ContinuousClock.now + .milliseconds(20)
    var waits = 0
    while ContinuousClock.now < end {
      #expect(come(milliseconds: 20).isEmpty)
      waits += 1
    }
    #expect(waits < 20)
    sockets.wait(for: ours, .receiving)
    #expect(come() == [ours])
    #expect(sockets.close(ours) == 0)
  }

  @Test("a socket with the number of one that was closed is reported", arguments: [true, false])
  func sameNumber(isConnection: Bool) throws {
    // The system gives the least free number.
    for _ in 1...20 {
      let (ours, other) = try Self.pair()
      defer { close(other) }
      if isConnection { sockets.opened(ours) }
      sockets.wait(for: ours, .receiving)
      #expect(come(milliseconds: 0).isEmpty)
      write(other, "a", 1)
      #expect(come() == [ours])
      sockets.wait(for: ours, [])
      #expect((isConnection ? sockets.close(ours) : close(ours)) == 0)
    }
  }

  @Test("an address is given up if its socket was never waited for to receive")
  func givenUp() throws {
    let (ours, other) = try Self.pair()
    defer { for socket in [ours, other] { close(socket) } }
    sockets.opened(ours)
    sockets.wait(for: ours, .sending)
    #expect(!sockets.takeGivenUp())
    sockets.wait(for: ours, [])
    #expect(sockets.takeGivenUp() && !sockets.takeGivenUp())
    // libcurl has closed it, and the number is another one's now.
    #expect(come(milliseconds: 0).isEmpty)
    sockets.opened(ours)
    sockets.wait(for: ours, .sending)
    #expect(come() == [ours])
    sockets.wait(for: ours, .receiving)
    sockets.wait(for: ours, [])
    #expect(!sockets.takeGivenUp())
    // Those that are no connections are left without a word.
    let (lookup, end) = try Self.pair()
    defer { for socket in [lookup, end] { close(socket) } }
    sockets.wait(for: lookup, .sending)
    sockets.wait(for: lookup, [])
    #expect(!sockets.takeGivenUp())
  }

  @Test("commands that are posted before any is taken wake the thread once")
  func wakeUps() throws {
    func count() -> UInt64 {
      var count: UInt64 = 0
      return read(mailbox.descriptor, &count, 8) == 8 ? count : 0
    }
    for _ in 1...3 { mailbox.post(.stop) }
    #expect(count() == 1)
    #expect(mailbox.removeAll().count == 3)
    mailbox.post(.stop)
    #expect(count() == 1 && mailbox.removeAll().count == 1)
    #expect(mailbox.close().isEmpty)
    mailbox.post(.stop)
    #expect(count() == 0)
  }

  @Test("a wait ends with the first command, also with one that came before")
  func mail() throws {
    mailbox.post(.stop)
    #expect(come().isEmpty)
    _ = mailbox.removeAll()
    mailbox.post(.stop)
    #expect(come().isEmpty)
  }
}
