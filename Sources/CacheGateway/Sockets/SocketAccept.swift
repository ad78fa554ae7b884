import CCrypto
import Foundation

/// Computes the value by which a server accepts the opening request of a web socket.
enum SocketAccept {
  /// The `Sec-WebSocket-Accept` that answers a key. RFC 6455 §4.2.2.
  ///
  /// - Returns: `nil` if libcrypto refuses SHA-1.
  static func value(for key: String) -> String? {
    let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    guard EVP_Digest(text, text.count, &digest, &count, EVP_sha1(), nil) == 1 else { return nil }
    return Data(digest.prefix(Int(count))).base64EncodedString()
  }
}
