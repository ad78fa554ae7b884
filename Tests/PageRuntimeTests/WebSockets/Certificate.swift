import CCrypto

/// A certificate with its key, for a server that a test talks to, or for the authority that issues it.
final class Certificate {
  struct Failed: Error {}

  let key: OpaquePointer
  let pointer: OpaquePointer

  /// - Parameters:
  ///   - names: who it is for, as `DNS:localhost, IP:127.0.0.1`; `nil` for an authority.
  ///   - issuer: `nil` for a certificate that signs itself.
  ///   - days: the days from now in which it is valid.
  init(
    names: String?, issuer: Certificate? = nil, days: ClosedRange<Int> = -1...1
  ) throws {
    guard let making = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { throw Failed() }
    defer { EVP_PKEY_CTX_free(making) }
    var made: OpaquePointer?
    guard EVP_PKEY_keygen_init(making) == 1, EVP_PKEY_CTX_set_group_name(making, "P-256") == 1,
      EVP_PKEY_generate(making, &made) == 1, let key = made, let pointer = X509_new()
    else { throw Failed() }
    (self.key, self.pointer) = (key, pointer)
    X509_set_version(pointer, 2)
    let number = Int.random(in: 1...Int(Int32.max))
    ASN1_INTEGER_set(X509_get_serialNumber(pointer), number)
    X509_gmtime_adj(X509_getm_notBefore(pointer), days.lowerBound * 86_400)
    X509_gmtime_adj(X509_getm_notAfter(pointer), days.upperBound * 86_400)
    X509_set_pubkey(pointer, key)
    X509_NAME_add_entry_by_txt(X509_get_subject_name(pointer), "CN", MBSTRING_UTF8, "test \(number)", -1, -1, 0)
    X509_set_issuer_name(pointer, X509_get_subject_name(issuer?.pointer ?? pointer))
    try add(NID_basic_constraints, names == nil ? "critical,CA:TRUE" : "CA:FALSE")
    if let names, !names.isEmpty { try add(NID_subject_alt_name, names) }
    guard X509_sign(pointer, issuer?.key ?? key, EVP_sha256()) > 0 else { throw Failed() }
  }

  deinit {
    X509_free(pointer)
    EVP_PKEY_free(key)
  }

  private func add(_ kind: Int32, _ value: String) throws {
    guard let part = X509V3_EXT_conf_nid(nil, nil, kind, value) else { throw Failed() }
    X509_add_ext(pointer, part, -1)
    X509_EXTENSION_free(part)
  }

  /// The name under which OpenSSL looks for the certificate in a directory.
  var hashedName: String {
    let hash = String(X509_subject_name_hash(pointer), radix: 16)
    return String(repeating: "0", count: 8 - hash.count) + hash + ".0"
  }

  /// Writes the certificate as PEM.
  func write(to path: String) throws {
    try Self.write(path) { PEM_write_bio_X509($0, pointer) }
  }

  /// Writes the key as PEM.
  func writeKey(to path: String) throws {
    try Self.write(path) { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }
  }

  private static func write(_ path: String, _ write: (OpaquePointer) -> Int32) throws {
    guard let file = BIO_new_file(path, "w") else { throw Failed() }
    defer { BIO_free(file) }
    guard write(file) == 1 else { throw Failed() }
  }
}
