#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Reserves a port of 127.0.0.1, whether the origin is listening on it or not.
///
/// A bound socket that does not listen refuses connections. With `SO_REUSEADDR` on both, another socket may listen on
/// the same address.
final class PortReservation: Sendable {
  let port: Int
  private let descriptor: Int32

  /// - Parameter port: 0 for a free one.
  /// - Throws: ``OriginError/cannotListen(port:reason:)``
  init(port wanted: Int) throws {
    #if canImport(Darwin)
      let kind = SOCK_STREAM
    #else
      let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    #endif
    guard let number = UInt16(exactly: wanted) else {
      throw OriginError.cannotListen(port: wanted, reason: "no such port")
    }
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { throw Self.error(wanted) }

    var isReusable: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isReusable, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = number.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, size) == 0 && getsockname(descriptor, address, &size) == 0
      }
    }
    guard isBound else {
      let error = Self.error(wanted)
      close(descriptor)
      throw error
    }
    self.descriptor = descriptor
    port = Int(UInt16(bigEndian: address.sin_port))
  }

  deinit {
    close(descriptor)
  }

  private static func error(_ port: Int) -> OriginError {
    .cannotListen(port: port, reason: String(cString: strerror(errno)))
  }
}
