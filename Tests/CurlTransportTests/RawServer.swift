import Foundation
import Synchronization

/// A server for responses that no HTTP server sends: it writes the same bytes to each connection, and then ends it.
///
/// It serves one connection after the other, on a thread that ends with this object.
final class RawServer: Sendable {
  enum Ending: Sendable {
    /// FIN.
    case close
    /// RST.
    case reset
  }

  private let listener: ListeningSocket
  private let received = Mutex<[[UInt8]]>([])

  /// - Parameter answer: the bytes to write; `nil` to accept connections and stay silent.
  init(answering answer: [UInt8]?, then ending: Ending = .close) throws {
    listener = try ListeningSocket()
    // Without a thread the system accepts connections, which are never read.
    guard let answer else { return }
    let thread = Thread { [listener, weak self] in
      while let connection = listener.accept() {
        self?.serve(connection, answer)
        connection.end(ending)
      }
    }
    thread.name = "raw server"
    thread.start()
  }

  deinit { listener.wake() }

  var port: Int { listener.port }

  /// The answered requests: each head, with the part of the body that arrived with it.
  var requests: [[UInt8]] { received.withLock(\.self) }

  private func serve(_ connection: ServerSocket, _ answer: [UInt8]) {
    let request = connection.readHead()
    received.withLock { $0.append(request) }
    connection.write(answer)
  }
}

/// Listens on a free port of 127.0.0.1.
private final class ListeningSocket: Sendable {
  let port: Int
  private let descriptor: Int32

  init() throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, size) == 0 && listen(descriptor, 16) == 0
          && getsockname(descriptor, address, &size) == 0
      }
    }
    guard isListening else {
      let code = errno
      close(descriptor)
      throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EADDRNOTAVAIL)
    }
    self.descriptor = descriptor
    port = Int(UInt16(bigEndian: address.sin_port))
  }

  deinit { close(descriptor) }

  /// Returns the next connection, `nil` after ``wake()``.
  func accept() -> ServerSocket? {
    let connection = Foundation.accept(descriptor, nil, nil)
    return connection < 0 ? nil : ServerSocket(descriptor: connection)
  }

  func wake() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

private struct ServerSocket {
  let descriptor: Int32

  func readHead() -> [UInt8] {
    var request: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while !request.contains(Array("\r\n\r\n".utf8)) {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      request += buffer[..<count]
    }
    return request
  }

  func write(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { _ = send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }

  func end(_ ending: RawServer.Ending) {
    if ending == .reset {
      // Closing with a linger time of zero sends RST.
      var time = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &time, socklen_t(MemoryLayout<linger>.size))
    }
    close(descriptor)
  }
}
