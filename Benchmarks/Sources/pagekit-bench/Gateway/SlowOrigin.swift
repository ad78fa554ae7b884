import Foundation
import Synchronization

/// Answers every request with the same bytes, a while after it has come, and counts them.
final class SlowOrigin: Sendable {
  /// The time until an answer, in microseconds.
  private let delay: useconds_t
  /// `true` if the answers may be stored.
  private let isStored: Bool
  /// The answer's last bytes, by which a client sees that it has all of it.
  static let mark = "the end of it\n"

  let port: Int
  private let listener: Int32
  private let count = Atomic<Int>(0)

  /// Requests since it began.
  var requests: Int { count.load(ordering: .relaxed) }

  /// - Throws: ``Measurement/Failed``.
  init(delay: useconds_t = 200_000, isStored: Bool = true) throws {
    (self.delay, self.isStored) = (delay, isStored)
    (listener, port) = try LocalServer.listener()
    Thread.detachNewThread { [self] in
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { return }
        Thread.detachNewThread { self.serve(connection) }
      }
    }
  }

  func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  private func serve(_ connection: Int32) {
    defer { close(connection) }
    var head: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 4096)
    while head.count < 1 << 16, !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      let read = recv(connection, &bytes, bytes.count, 0)
      guard read > 0 else { return }
      head += bytes.prefix(read)
    }
    count.add(1, ordering: .relaxed)
    usleep(delay)
    let body = String(repeating: "x", count: 1024 - Self.mark.utf8.count) + Self.mark
    let answer =
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1024\r\nCache-Control: \(isStored ? "max-age=3600" : "no-store")\r\n"
      + "Connection: close\r\n\r\n" + body
    _ = Array(answer.utf8).withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }
}
