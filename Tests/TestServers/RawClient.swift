import Dispatch
import Foundation

/// A client that sends exact bytes at exact times. Each call has its own thread, so that it blocks no other task.
package final class RawClient: Sendable {
  package struct Failed: Error, CustomStringConvertible {
    package let description: String
  }

  private let descriptor: Int32

  /// - Parameters:
  ///   - source: the client's loopback address.
  ///   - receiveBuffer: the bytes that the system buffers for a client that does not read; `nil` for its default.
  package init(port: Int, from source: String? = nil, receiveBuffer: Int32? = nil) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if var receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    if let source {
      var own = address
      own.sin_port = 0
      own.sin_addr.s_addr = inet_addr(source)
      let bound = withUnsafePointer(to: &own) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard bound == 0 else { throw Failed(description: "bind: \(errno)") }
    }
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw Failed(description: "connect: \(errno)") }
    var limit = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  /// Returns `true` if all bytes were sent.
  @discardableResult
  package func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  @discardableResult
  package func send(_ bytes: [UInt8]) -> Bool {
    Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
  }

  /// Returns once the server, which runs on this machine, has read all that was sent: the system holds none of it.
  ///
  /// - Throws: ``Failed`` after 30 seconds.
  package func waitUntilRead() async throws {
    let (own, server) = (try port(getsockname), try port(getpeername))
    let deadline = ContinuousClock.now + .seconds(30)
    while try Self.queued(from: own, to: server) > 0 {
      guard ContinuousClock.now < deadline else { throw Failed(description: "the server does not read") }
      try await Task.sleep(for: .microseconds(200))
    }
  }

  private func port(
    _ name: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) throws -> Int {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { name(descriptor, $0, &size) }
    }
    guard result == 0 else { throw Failed(description: "the ports are unknown: \(errno)") }
    return Int(in_port_t(bigEndian: address.sin_port))
  }

  /// The bytes of a connection that its server has not read, by proc(5).
  private static func queued(from client: Int, to server: Int) throws -> Int {
    let sockets = try String(contentsOfFile: "/proc/net/tcp", encoding: .utf8).split(separator: "\n").dropFirst()
    return sockets.reduce(0) { sum, socket in
      // The two addresses with their ports, the state, and the bytes to be sent and to be read; all hexadecimal.
      let parts = socket.split(separator: " ")
      guard parts.count > 4 else { return sum }
      let ports = parts[1...2].map { $0.split(separator: ":").last.flatMap { Int($0, radix: 16) } }
      let counts = parts[4].split(separator: ":").map { Int($0, radix: 16) ?? 0 }
      guard counts.count == 2 else { return sum }
      if ports == [client, server] { return sum + counts[0] }
      return ports == [server, client] ? sum + counts[1] : sum
    }
  }

  /// Returns all text until the other side closes.
  package func readToEnd() async throws -> String {
    try await read { _ in false }
  }

  /// Returns all bytes until the other side closes.
  package func bytesToEnd() async throws -> [UInt8] { try await bytes { _ in false } }

  /// Makes the connection end with a reset.
  package func reset() {
    var now = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
  }

  /// Closes the sending side.
  package func closeOutput() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Returns all text up to and including `mark`.
  package func read(until mark: String) async throws -> String {
    try await read { $0().contains(mark) }
  }

  /// Returns one answer, whose head tells its length.
  ///
  /// - Parameter isHead: the request has the method HEAD, so that the answer has no body.
  package func readAnswer(isHead: Bool = false) async throws -> String {
    try await read { text in
      let text = text()
      guard let border = text.firstRange(of: "\r\n\r\n") else { return false }
      let lines = text[..<border.lowerBound].lowercased().split(separator: "\r\n")
      let length = lines.first { $0.hasPrefix("content-length:") }?.split(separator: " ").last.flatMap { Int($0) }
      let hasBody = !isHead && lines.first?.contains(" 304") != true
      return !hasBody || text[border.upperBound...].utf8.count >= length ?? 0
    }
  }

  private func read(until isEnough: @escaping @Sendable (() -> String) -> Bool) async throws -> String {
    String(decoding: try await bytes(until: isEnough), as: UTF8.self)
  }

  private func bytes(until isEnough: @escaping @Sendable (() -> String) -> Bool) async throws -> [UInt8] {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue(label: "raw client").async { [self] in
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
          let count = recv(descriptor, &buffer, buffer.count, 0)
          let text = { String(decoding: bytes, as: UTF8.self) }
          if count < 0 {
            // A stop and continuation of the process interrupts the call.
            if errno == EINTR { continue }
            // A reset is an end too.
            if errno == ECONNRESET { return continuation.resume(returning: bytes) }
            return continuation.resume(throwing: Failed(description: "errno \(errno) after: \(text())"))
          }
          if count == 0 { return continuation.resume(returning: bytes) }
          bytes += buffer[..<count]
          if isEnough(text) { return continuation.resume(returning: bytes) }
        }
      }
    }
  }
}
