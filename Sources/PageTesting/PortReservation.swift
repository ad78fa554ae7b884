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
    let descriptor = try Self.boundSocket(wanted)
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isNamed = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) == 0 }
    }
    guard isNamed else {
      let error = Self.error(wanted)
      close(descriptor)
      throw error
    }
    self.descriptor = descriptor
    port = Int(UInt16(bigEndian: address.sin_port))
  }

  private static func boundSocket(_ wanted: Int) throws -> Int32 {
    #if canImport(Darwin)
      let kind = SOCK_STREAM
    #else
      let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    #endif
    guard let number = UInt16(exactly: wanted) else {
      throw OriginError.cannotListen(port: wanted, reason: "no such port")
    }
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { throw error(wanted) }

    var isReusable: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isReusable, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = number.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let isBound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isBound else {
      let error = error(wanted)
      close(descriptor)
      throw error
    }
    return descriptor
  }

  deinit {
    close(descriptor)
  }

  /// A socket on the port that does not listen yet, and a copy of its descriptor for ``endListening(_:)``. The caller
  /// closes both.
  ///
  /// - Throws: ``OriginError/cannotListen(port:reason:)``
  func makeSocket() throws -> (socket: Int32, copy: Int32) {
    let descriptor = try Self.boundSocket(port)
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    guard copy >= 0 else {
      let error = Self.error(port)
      close(descriptor)
      throw error
    }
    return (descriptor, copy)
  }

  /// Ends listening at once.
  ///
  /// Closing alone does not: a process that is being started has copies of all descriptors until it becomes its
  /// program. On a busy machine it would go on accepting connections that are never served, and keep the port.
  static func endListening(_ descriptor: Int32) {
    shutdown(descriptor, Int32(SHUT_RDWR))
    close(descriptor)
  }

  private static func error(_ port: Int) -> OriginError {
    .cannotListen(port: port, reason: String(cString: strerror(errno)))
  }
}
