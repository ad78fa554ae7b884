import CCrypto

/// Digests bytes as they arrive, with libcrypto.
public struct Digester<Digest: FixedSizeDigest>: ~Copyable {
  private let context: OpaquePointer

  fileprivate init(_ algorithm: DigestAlgorithm) throws {
    guard let pointer = algorithm.pointer, let context = EVP_MD_CTX_new() else {
      throw DigestError.unavailable(algorithm.name)
    }
    guard EVP_DigestInit_ex(context, pointer, nil) == 1 else {
      EVP_MD_CTX_free(context)
      throw DigestError.unavailable(algorithm.name)
    }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  public mutating func update(_ bytes: UnsafeRawBufferPointer) {
    // Fails only on a context that was never initialised.
    _ = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
  }

  public mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// The digest of everything; to be asked for once, at the end.
  public mutating func finish() throws -> Digest {
    var length: UInt32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
      let done = EVP_DigestFinal_ex(context, buffer.baseAddress, &length) == 1
      count = done ? Int(length) : 0
    }
    guard let digest = Digest(bytes: bytes) else { throw DigestError.unavailable("\(Digest.self)") }
    return digest
  }
}

extension Digester where Digest == MD5Digest {
  /// - Throws: ``DigestError`` if libcrypto was built without MD5.
  public static func md5() throws -> Self { try Self(.md5) }
}

extension Digester where Digest == SHA256Digest {
  /// - Throws: ``DigestError`` if libcrypto was built without SHA-256.
  public static func sha256() throws -> Self { try Self(.sha256) }
}

/// An algorithm of libcrypto's default provider, in a context that the system's settings do not change: FIPS mode forbids
/// MD5 where it would have to resist attacks. Here it is the checksum that a server gives.
private struct DigestAlgorithm: @unchecked Sendable {
  let name: String
  /// Lives as long as the process; libcrypto lets all threads use it.
  let pointer: OpaquePointer?

  private init(_ name: String) {
    self.name = name
    pointer = Self.library.context.flatMap { EVP_MD_fetch($0, name, "") }
  }

  static let md5 = DigestAlgorithm("MD5")
  static let sha256 = DigestAlgorithm("SHA256")

  private struct Library: @unchecked Sendable {
    let context: OpaquePointer?

    init() {
      context = OSSL_LIB_CTX_new()
      _ = context.map { OSSL_PROVIDER_load($0, "default") }
    }
  }

  private static let library = Library()
}

/// Takes both digests in one pass over the bytes.
public struct ContentDigester: ~Copyable {
  private var md5: Digester<MD5Digest>
  private var sha256: Digester<SHA256Digest>
  /// Bytes seen so far.
  public private(set) var size: Int64 = 0

  public init() throws {
    let md5 = try Digester<MD5Digest>.md5()
    let sha256 = try Digester<SHA256Digest>.sha256()
    self.md5 = md5
    self.sha256 = sha256
  }

  public mutating func update(_ bytes: UnsafeRawBufferPointer) {
    md5.update(bytes)
    sha256.update(bytes)
    size += Int64(bytes.count)
  }

  public mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// The digests of everything; to be asked for once, at the end.
  public mutating func finish() throws -> ContentDigests {
    ContentDigests(md5: try md5.finish(), sha256: try sha256.finish(), size: size)
  }
}

extension ContentDigests {
  public init(of bytes: [UInt8]) throws {
    var digester = try ContentDigester()
    digester.update(bytes)
    self = try digester.finish()
  }
}

/// libcrypto cannot compute a digest.
public enum DigestError: Error, CustomStringConvertible {
  case unavailable(String)

  public var description: String {
    switch self {
    case .unavailable(let name):
      "libcrypto on this system was built without \(name): install OpenSSL with its default provider"
    }
  }
}
