import CCurl
import Foundation

/// The sockets of connections of HTTP/1 that were used before, by their own ports: libcurl 7.88 tells them only when a
/// transfer has ended. Lives on the curl thread.
final class ConnectionSockets {
  private var sockets: [Int: Int32] = [:]
  private let limit: Int

  /// - Parameter connections: as many may be open.
  init(connections: Int) { limit = max(connections, 1) * 2 }

  /// Called when a transfer has ended, while its connection is still known.
  func note(_ easy: UnsafeMutableRawPointer) {
    var port = 0
    var socket: curl_socket_t = -1
    guard pk_getinfo_long(easy, CURLINFO_LOCAL_PORT, &port) == CURLE_OK, port > 0,
      pk_getinfo_socket(easy, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK, socket >= 0
    else { return }
    var version = 0
    guard pk_getinfo_long(easy, CURLINFO_HTTP_VERSION, &version) == CURLE_OK, version < pk_http_version_2_0 else {
      // There the frames of others and the server's own may come at any time.
      sockets[port] = nil
      return
    }
    sockets[port] = socket
    if sockets.count > limit { sockets = sockets.filter { Self.port(of: $0.value) == $0.key } }
  }

  /// Whether a connection that is used again has bytes, or its end, to be read before anything is asked on it. Such
  /// bytes belong to no request that is out, and must not be taken for an answer. RFC 9112 §9.2.
  ///
  /// Under TLS those that came in one record with the end of an answer are not seen: they have left the socket.
  func hasUnaskedBytes(onPort port: Int) -> Bool {
    // The number may be another connection's by now.
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
    // IPv4 and IPv6 have it in the same place.
    return withUnsafeBytes(of: &address) { Int($0[2]) << 8 | Int($0[3]) }
  }
}
