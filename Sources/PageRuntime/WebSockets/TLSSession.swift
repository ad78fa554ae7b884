import CCrypto
import CCurl
import Foundation
import NIOCore
import Synchronization

/// The certificate authorities of a transport: those that libcurl trusts, or those of one file.
///
/// All connections of the transport share one ``TLSContext``, which is made anew once a file or a directory has changed.
final class TLSTrust: Sendable {
  let files, directories: [String]
  /// `true` if a file that cannot be read is an error.
  private let isRequired: Bool
  private let made = Mutex<(context: TLSContext, stamps: [Stamp?])?>(nil)

  /// The identity, size and time of a file or directory: another stamp means that it has changed.
  private struct Stamp: Hashable {
    let device, inode, size, seconds, nanoseconds: Int

    /// - Returns: `nil` if there is nothing at the path.
    init?(_ path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      device = Int(truncatingIfNeeded: status.st_dev)
      inode = Int(truncatingIfNeeded: status.st_ino)
      (size, seconds, nanoseconds) = (Int(status.st_size), status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
    }
  }

  /// - Parameter file: the path of a PEM file; `nil` for the system's authorities.
  convenience init(file: String?) {
    if let file {
      self.init(files: [file], directories: [], isRequired: true)
    } else {
      self.init(system: ProcessInfo.processInfo.environment)
    }
  }

  /// The system's authorities are those of libcurl and of OpenSSL. Of OpenSSL's variables `SSL_CERT_FILE` replaces the
  /// file, `SSL_CERT_DIR` the directory, and each of them those of libcurl.
  convenience init(system environment: [String: String]) {
    let named = (
      file: environment[String(cString: X509_get_default_cert_file_env())],
      directories: environment[String(cString: X509_get_default_cert_dir_env())]
    )
    var files = [named.file ?? String(cString: X509_get_default_cert_file())]
    var directories = (named.directories ?? String(cString: X509_get_default_cert_dir())).split(separator: ":")
      .map { String($0) }
    if named.file == nil, named.directories == nil, pk_load_curl() == nil {
      let curl = curl_version_info(CURLVERSION_SEVENTH).pointee
      if let file = curl.cainfo { files.append(String(cString: file)) }
      if let directory = curl.capath { directories.append(String(cString: directory)) }
    }
    self.init(files: files, directories: directories, isRequired: false)
  }

  /// - Parameters:
  ///   - files: paths of PEM files.
  ///   - directories: paths of directories in which an authority has the name that OpenSSL looks for, such as
  ///     `5ad8a5d6.0`.
  ///   - isRequired: `true` if a file that cannot be read is an error.
  init(files: [String], directories: [String], isRequired: Bool) {
    (self.files, self.directories, self.isRequired) = (files, directories, isRequired)
  }

  /// Returns the context with the present authorities. It waits for the disk, 50 ms for the file with all of Debian's
  /// authorities: it is not for event loops.
  ///
  /// - Throws: ``TLSError``. The next call tries again.
  func context() throws -> TLSContext {
    try made.withLock { made in
      // From before they are read: the next call reads what changes meanwhile.
      let stamps = (files + directories).map { Stamp($0) }
      if let made, made.stamps == stamps { return made.context }
      let context = try TLSContext()
      // One file often has several names.
      var read: Set<Stamp> = []
      for (file, stamp) in zip(files, stamps) where stamp.map({ read.insert($0).inserted }) ?? isRequired {
        do { try context.trust(file: file) } catch { if isRequired { throw error } }
      }
      for directory in directories { context.trust(directory: directory) }
      made = (context, stamps)
      return context
    }
  }
}

/// The settings of TLS for connections: the trusted authorities, and the least version.
///
/// `@unchecked Sendable`: ``TLSTrust`` does not change it once others have it, and OpenSSL locks what connections share.
final class TLSContext: @unchecked Sendable {
  fileprivate let pointer: OpaquePointer

  /// Makes a context that trusts no authority yet.
  fileprivate init() throws {
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
    // As with libcurl, which has the same files: each certificate in them is trusted, with or without the one above it.
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(pointer), UInt(X509_V_FLAG_PARTIAL_CHAIN))
  }

  deinit { SSL_CTX_free(pointer) }

  fileprivate func trust(file: String) throws {
    ERR_clear_error()
    guard SSL_CTX_load_verify_file(pointer, file) == 1 else {
      throw TLSError.authorities(file: file, reason: TLSError.reason())
    }
  }

  /// Has authorities looked up in a directory, each when a certificate names it.
  fileprivate func trust(directory: String) {
    SSL_CTX_load_verify_dir(pointer, directory)
    ERR_clear_error()
  }
}

/// TLS of one connection, as the client. It does no I/O: bytes of the network go in and come out.
///
/// OpenSSL reads and writes in memory. Received bytes are used up by ``handshake()`` and ``read(into:)``, except for a
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
  ///
  /// - Returns: `false` if nothing was encrypted, since a message of TLS itself has come in part, such as a ticket
  ///   (RFC 8446 §4.6.1). More bytes are needed first.
  /// - Throws: ``TLSError``.
  func write(_ data: inout ByteBuffer) throws -> Bool {
    ERR_clear_error()
    var result: Int32 = 0
    data.readWithUnsafeReadableBytes { bytes in
      result = SSL_write(connection, bytes.baseAddress, Int32(min(bytes.count, Self.recordLength)))
      return max(0, Int(result))
    }
    if result > 0 { return true }
    guard SSL_get_error(connection, result) == SSL_ERROR_WANT_READ else { throw failure() }
    return false
  }

  /// Says to the server that nothing more is sent. RFC 8446 §6.1.
  ///
  /// - Returns: `false` if more bytes are needed first, as with ``write(_:)``.
  func endOutput() -> Bool {
    guard SSL_in_init(connection) == 0 else { return false }
    SSL_shutdown(connection)
    ERR_clear_error()
    return true
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
