import CCrypto
import Foundation
import NIOCore

/// The settings of TLS for a connection: the trusted authorities, and the least version. Each opening makes its own.
///
/// `@unchecked Sendable`: it is not changed after it was made, and OpenSSL locks what connections share.
final class TLSContext: @unchecked Sendable {
  fileprivate let pointer: OpaquePointer

  /// - Parameter authorities: the path of a PEM file of certificate authorities; `nil` for the system's.
  /// - Throws: ``TLSError``.
  init(authorities: String?) throws {
    ERR_clear_error()
    guard let pointer = SSL_CTX_new(TLS_client_method()) else { throw TLSError.unavailable(TLSError.reason()) }
    self.pointer = pointer
    SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
    SSL_CTX_set_options(pointer, pagekit_no_renegotiation | pagekit_no_compression)
    // RFC 8996: TLS 1.0 and 1.1 must not be used. Suites and key lengths are the system's choice (openssl.cnf).
    if SSL_CTX_ctrl(pointer, SSL_CTRL_GET_MIN_PROTO_VERSION, 0, nil) < Int(TLS1_2_VERSION),
      SSL_CTX_ctrl(pointer, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil) != 1
    {
      throw TLSError.unavailable(TLSError.reason())
    }
    // A connection that waits keeps no buffers.
    _ = SSL_CTX_ctrl(pointer, SSL_CTRL_MODE, Int(SSL_MODE_RELEASE_BUFFERS), nil)
    try trust(authorities)
  }

  deinit { SSL_CTX_free(pointer) }

  private func trust(_ authorities: String?) throws {
    // As with libcurl, which has the same file: each certificate in it is trusted, with or without the one above it.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(pointer), UInt(X509_V_FLAG_PARTIAL_CHAIN))
    if let authorities {
      guard SSL_CTX_load_verify_file(pointer, authorities) == 1 else {
        throw TLSError.authorities(file: authorities, reason: TLSError.reason())
      }
    } else {
      let hasDirectory = Self.hasDirectory
      if hasDirectory { SSL_CTX_set_default_verify_dir(pointer) }
      // A look-up in the directory reads one file. All 139 authorities of Debian in one file take 50 ms to read.
      let names = ProcessInfo.processInfo.environment[String(cString: X509_get_default_cert_file_env())]
      if !hasDirectory || names != nil { SSL_CTX_set_default_verify_file(pointer) }
    }
  }

  /// `true` if one of the system's directories of authorities has files whose names OpenSSL finds: `HASH.0`.
  private static var hasDirectory: Bool {
    let paths = ProcessInfo.processInfo.environment[String(cString: X509_get_default_cert_dir_env())]
    return (paths ?? String(cString: X509_get_default_cert_dir())).split(separator: ":").contains { path in
      let names = try? FileManager.default.contentsOfDirectory(atPath: String(path))
      return names?.contains { $0.hasSuffix(".0") } ?? false
    }
  }
}

/// TLS of one connection, as the client. It does no I/O: bytes of the network go in and come out.
///
/// OpenSSL reads and writes in memory. What came in is used up by ``handshake()`` and ``read(into:)``, except for a
/// record of which a part has come.
final class TLSSession {
  private let host: String
  private let connection: OpaquePointer
  /// Bytes from the server, and bytes for it; the connection frees both.
  private let input, output: OpaquePointer

  /// The most that a record holds. RFC 8446 §5.1.
  private static let recordLength = 1 << 14

  /// - Parameter host: a name, or an address without brackets: what the server's certificate must be for.
  /// - Throws: ``TLSError``.
  init(_ context: TLSContext, host: String) throws {
    ERR_clear_error()
    guard let connection = SSL_new(context.pointer) else { throw TLSError.unavailable(TLSError.reason()) }
    guard let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem()) else {
      SSL_free(connection)
      throw TLSError.unavailable(TLSError.reason())
    }
    SSL_set_bio(connection, input, output)
    SSL_set_connect_state(connection)
    (self.host, self.connection, self.input, self.output) = (host, connection, input, output)
    let expected = SSL_get0_param(connection)
    if (try? SocketAddress(ipAddress: host, port: 0)) != nil {
      guard X509_VERIFY_PARAM_set1_ip_asc(expected, host) == 1 else { throw TLSError.invalidHost(host) }
      return
    }
    // RFC 6066 §3: names only, without the dot at their end.
    let name = host.hasSuffix(".") ? String(host.dropLast()) : host
    X509_VERIFY_PARAM_set_hostflags(expected, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
    let count = name.utf8.count
    let isSet = name.withCString { name in
      X509_VERIFY_PARAM_set1_host(expected, name, count) == 1
        && SSL_ctrl(
          connection, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name),
          UnsafeMutableRawPointer(mutating: name)) == 1
    }
    guard isSet, !name.isEmpty else { throw TLSError.invalidHost(host) }
  }

  deinit { SSL_free(connection) }

  // MARK: Bytes of the network

  /// Takes bytes that came from the server.
  func receive(_ bytes: ByteBuffer) throws {
    let hasTaken = bytes.withUnsafeReadableBytes { bytes in
      bytes.isEmpty || BIO_write(input, bytes.baseAddress, Int32(clamping: bytes.count)) == bytes.count
    }
    guard hasTaken else { throw TLSError.failed(host: host, reason: "out of memory") }
  }

  /// The number of bytes that wait to be sent.
  var outputCount: Int { BIO_ctrl_pending(output) }

  /// Returns the bytes that are to be sent; `nil` if there are none.
  func takeOutput(_ allocator: ByteBufferAllocator) -> ByteBuffer? {
    let count = outputCount
    guard count > 0 else { return nil }
    var bytes = allocator.buffer(capacity: count)
    bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
      max(0, Int(BIO_read(output, space.baseAddress, Int32(clamping: space.count))))
    }
    return bytes
  }

  // MARK: Handshake, data and end

  /// Goes on with the handshake; the first call begins it.
  ///
  /// - Returns: `false` if it needs more bytes.
  /// - Throws: ``TLSError``. The output may have an alert for the server then.
  func handshake() throws -> Bool {
    ERR_clear_error()
    let result = SSL_do_handshake(connection)
    if result == 1 { return true }
    guard SSL_get_error(connection, result) == SSL_ERROR_WANT_READ else { throw failure() }
    return false
  }

  /// Decrypts all that came.
  ///
  /// - Parameter data: gets what is decrypted, also before an error: little more than came in.
  /// - Returns: `false` if the server has ended its side.
  /// - Throws: ``TLSError``.
  func read(into data: inout ByteBuffer) throws -> Bool {
    while BIO_ctrl_pending(input) > 0 || SSL_pending(connection) > 0 {
      ERR_clear_error()
      var result: Int32 = 0
      data.writeWithUnsafeMutableBytes(minimumWritableBytes: 1 << 10) { space in
        result = SSL_read(connection, space.baseAddress, Int32(clamping: space.count))
        return max(0, Int(result))
      }
      if result > 0 { continue }
      switch SSL_get_error(connection, result) {
      case SSL_ERROR_WANT_READ: return true
      case SSL_ERROR_ZERO_RETURN: return false
      default: throw failure()
      }
    }
    return true
  }

  /// Encrypts one record's worth of `data`, which must not be empty, and removes it there.
  func write(_ data: inout ByteBuffer) throws {
    ERR_clear_error()
    let count = data.readWithUnsafeReadableBytes { bytes in
      max(0, Int(SSL_write(connection, bytes.baseAddress, Int32(min(bytes.count, Self.recordLength)))))
    }
    if count == 0 { throw failure() }
  }

  /// Says to the server that nothing more is sent. RFC 8446 §6.1.
  func endOutput() {
    SSL_shutdown(connection)
    ERR_clear_error()
  }

  private func failure() -> TLSError {
    let verification = SSL_get_verify_result(connection)
    guard verification == Int(X509_V_OK) else {
      ERR_clear_error()
      return .refused(host: host, reason: String(cString: X509_verify_cert_error_string(verification)))
    }
    return .failed(host: host, reason: TLSError.reason())
  }
}

/// An error of TLS.
enum TLSError: Error, Hashable, CustomStringConvertible {
  case unavailable(String)
  case authorities(file: String, reason: String)
  case invalidHost(String)
  /// The server's certificate is not accepted.
  case refused(host: String, reason: String)
  case failed(host: String, reason: String)
  /// The connection ended before the handshake did.
  case endedEarly(host: String)
  /// The connection ended without the server's word that it has sent everything. RFC 8446 §6.1.
  case truncated(host: String)

  var description: String {
    switch self {
    case .unavailable(let reason): "OpenSSL cannot be used: \(reason)"
    case .authorities(let file, let reason): "\(file): the certificate authorities cannot be read: \(reason)"
    case .invalidHost(let host): "\"\(host.prefix(200))\" is not a host that a certificate can be for"
    case .refused(let host, let reason): "the certificate of \(host) is refused: \(reason)"
    case .failed(let host, let reason): "TLS with \(host) failed: \(reason)"
    case .endedEarly(let host): "\(host) ended the connection during the TLS handshake"
    case .truncated(let host): "\(host) ended the connection without ending TLS"
    }
  }

  /// OpenSSL's reason for a failure on this thread, the first one of those that led to each other. All are forgotten.
  fileprivate static func reason() -> String {
    defer { ERR_clear_error() }
    let code = ERR_peek_error()
    if let text = ERR_reason_error_string(code) { return String(cString: text) }
    if ERR_GET_LIB(code) == ERR_LIB_SYS { return String(cString: strerror(ERR_GET_REASON(code))) }
    return "OpenSSL gives no reason"
  }
}
