import CCurl
import Foundation

/// The sockets of HTTP/1 connections that were used before, by their local ports, since libcurl 7.88 gives a socket
/// only at the end of a transfer. Lives on the curl thread.
final class ConnectionSockets {
  private var sockets: [Int: Int32] = [:]
  private let limit: Int

  /// - Parameter connections: the largest number of open connections.
  init(connections: Int) { limit = max(connections, 1) * 2 }

  /// Records the connection of a transfer that has ended, while libcurl still knows it.
  func note(_ easy: UnsafeMutableRawPointer) {
    var port = 0
    var socket: curl_socket_t = -1
    guard pk_getinfo_long(easy, CURLINFO_LOCAL_PORT, &port) == CURLE_OK, port > 0,
      pk_getinfo_socket(easy, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK, socket >= 0
    else { return }
    var version = 0
    guard pk_getinfo_long(easy, CURLINFO_HTTP_VERSION, &version) == CURLE_OK, version < pk_http_version_2_0 else {
      // On HTTP/2 connections, frames of other streams and of the server may arrive at any time.
      sockets[port] = nil
      return
    }
    sockets[port] = socket
    if sockets.count > limit { sockets = sockets.filter { Self.port(of: $0.value) == $0.key } }
  }

  /// Returns `true` if a reused connection has bytes, or its end, to be read before the request is sent. Such bytes
  /// belong to no outstanding request, and must not be read as a response. RFC 9112 §9.2.
  ///
  /// Under TLS, bytes in the same record as the end of the last response are not detected: they have left the socket.
  func hasUnaskedBytes(onPort port: Int) -> Bool {
    // The descriptor may belong to another connection by now.
    guard let socket = sockets[port], Self.port(of: socket) == port else { return false }
    var byte: UInt8 = 0
    return recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) >= 0
  }

  private static func port(of socket: Int32) -> Int? {
    var address = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let isKnown = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &size) == 0 }
    }
    guard isKnown else { return nil }
    // IPv4 and IPv6 addresses have the port at the same offset.
    return withUnsafeBytes(of: &address) { Int($0[2]) << 8 | Int($0[3]) }
  }
}
