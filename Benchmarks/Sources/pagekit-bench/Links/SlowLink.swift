import Foundation
import Synchronization

/// A proxy on loopback that passes bytes on as a slow link would: late, and at most so many a second in each direction,
/// which all connections share.
final class SlowLink: Sendable {
  /// The largest piece that is passed on at once, in bytes.
  private static let pieceSize = 8 << 10

  let port: Int
  /// The time from one end to the other, and back.
  private let roundTrip: Duration
  private let target: Int
  private let listener: Int32
  private let up: Line
  private let down: Line

  var origin: String { "http://127.0.0.1:\(port)" }

  /// - Parameters:
  ///   - bytesPerSecond: in each direction.
  ///   - target: the port on loopback that connections are passed to.
  /// - Throws: ``Measurement/Failed``.
  init(roundTrip: Duration, bytesPerSecond: Double, to target: Int) throws {
    (listener, port) = try LocalServer.listener()
    (self.roundTrip, self.target) = (roundTrip, target)
    (up, down) = (Line(bytesPerSecond), Line(bytesPerSecond))
    Thread.detachNewThread { [self] in
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return }
        guard let server = try? LocalServer.connection(to: target) else {
          close(client)
          continue
        }
        let open = Open(client, server)
        // Over a real link, the connection would have taken one round trip.
        Thread.detachNewThread { self.pass(from: client, to: server, self.up, after: roundTrip) { open.end() } }
        Thread.detachNewThread { self.pass(from: server, to: client, self.down, after: .zero) { open.end() } }
      }
    }
  }

  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  /// One direction of the link.
  private final class Line: Sendable {
    private let bytesPerSecond: Double
    private let freeAt = Mutex(ContinuousClock.now)

    init(_ bytesPerSecond: Double) { self.bytesPerSecond = bytesPerSecond }

    /// The time at which bytes that come now have left.
    func departure(of bytes: Int) -> ContinuousClock.Instant {
      freeAt.withLock { freeAt in
        freeAt = max(freeAt, .now) + .seconds(Double(bytes) / bytesPerSecond)
        return freeAt
      }
    }
  }

  /// The sockets of a connection, closed when both directions have ended.
  private final class Open: Sendable {
    private let sockets: [Int32]
    private let ended = Atomic<Int>(0)

    init(_ sockets: Int32...) { self.sockets = sockets }

    func end() {
      if ended.add(1, ordering: .acquiringAndReleasing).newValue == 2 { for socket in sockets { close(socket) } }
    }
  }

  /// The bytes that are on their way.
  private final class Flight: Sendable {
    private let pieces = Mutex<[(arrival: ContinuousClock.Instant, bytes: [UInt8])]>([])
    private let count = DispatchSemaphore(value: 0)

    func add(_ bytes: [UInt8], arrival: ContinuousClock.Instant) {
      pieces.withLock { $0.append((arrival, bytes)) }
      count.signal()
    }

    func next() -> (arrival: ContinuousClock.Instant, bytes: [UInt8]) {
      count.wait()
      return pieces.withLock { $0.removeFirst() }
    }
  }

  private func pass(
    from source: Int32, to target: Int32, _ line: Line, after start: Duration, ended: @escaping @Sendable () -> Void
  ) {
    let flight = Flight()
    let delay = roundTrip / 2
    Thread.detachNewThread {
      while true {
        let (arrival, bytes) = flight.next()
        Self.sleep(until: arrival)
        // No bytes are the end.
        guard !bytes.isEmpty, Self.send(bytes, to: target) else { break }
      }
      shutdown(target, Int32(SHUT_WR))
      ended()
    }
    Self.sleep(until: .now + start)
    var bytes = [UInt8](repeating: 0, count: Self.pieceSize)
    while true {
      let read = recv(source, &bytes, bytes.count, 0)
      guard read > 0 else { break }
      let departure = line.departure(of: read)
      flight.add(Array(bytes.prefix(read)), arrival: departure + delay)
      Self.sleep(until: departure)
    }
    flight.add([], arrival: .now + delay)
  }

  private static func send(_ bytes: [UInt8], to target: Int32) -> Bool {
    bytes.withUnsafeBytes { buffer in
      var rest = buffer[...]
      while !rest.isEmpty {
        let sent = Foundation.send(
          target, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count, Int32(MSG_NOSIGNAL))
        guard sent > 0 else { return false }
        rest = rest.dropFirst(sent)
      }
      return true
    }
  }

  private static func sleep(until instant: ContinuousClock.Instant) {
    let wait = (instant - .now) / .microseconds(1)
    if wait > 0 { usleep(UInt32(wait)) }
  }
}
