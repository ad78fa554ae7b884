import Foundation
import HTTPCaching
import HTTPTypes
import RawStructuredFieldValues

/// The digest of the content in a response's fields, and its reliability.
package enum ResponseDigest: Equatable, Sendable {
  /// The digest in `Content-MD5` (RFC 1864) or `Repr-Digest` (RFC 9530).
  case promised(ExpectedContent)
  /// An `ETag` that looks like an MD5: many servers use MD5s as ETags, but none has to.
  case hinted(MD5Digest)
  /// The server has the content no more: it answers with this status, which no fields say.
  case gone(status: Int)

  package var expected: ExpectedContent? {
    if case .promised(let expected) = self { expected } else { nil }
  }

  /// Returns `nil` if no field contains a digest.
  ///
  /// - Parameter isEncoded: `true` if the content is encoded; the first two fields then describe the encoded bytes and
  ///   are ignored.
  package init?(_ fields: HTTPFields, isEncoded: Bool) {
    if !isEncoded {
      let md5 = Self.contentMD5.flatMap { fields[$0] }.flatMap(Self.md5(base64:))
      let digests = FieldDigests(fields, Self.reprDigest)
      if let md5 = md5 ?? digests?.md5 {
        self = .promised(ExpectedContent(md5: md5, sha256: digests?.sha256))
        return
      }
      if let sha256 = digests?.sha256 {
        self = .promised(ExpectedContent(md5: nil, sha256: sha256))
        return
      }
    }
    guard let md5 = fields[.eTag].flatMap(Self.md5(etag:)) else { return nil }
    self = .hinted(md5)
  }

  package static let contentMD5 = HTTPField.Name("Content-MD5")
  package static let reprDigest = HTTPField.Name("Repr-Digest")
  /// The fields that contain a digest of the content.
  package static let fieldNames = [contentMD5, reprDigest, HTTPField.Name.contentDigest].compactMap(\.self)

  private static func md5(base64: String) -> MD5Digest? {
    Data(base64Encoded: base64.trimmingSpaces).flatMap { MD5Digest(bytes: $0) }
  }

  private static func md5(etag: String) -> MD5Digest? {
    var text = Substring(etag)
    if text.hasPrefix("W/") { text = text.dropFirst(2) }
    guard text.count == 34, text.hasPrefix("\""), text.hasSuffix("\"") else { return nil }
    return MD5Digest(hex: text.dropFirst().dropLast())
  }
}

/// The digests in `Repr-Digest` or `Content-Digest`; those of other algorithms are left out. RFC 9530 §2, §3.
package struct FieldDigests: Equatable {
  package let md5: MD5Digest?
  package let sha256: SHA256Digest?
  package let sha512: SHA512Digest?

  /// Returns `nil` if the fields have none.
  package init?(_ fields: HTTPFields, _ name: HTTPField.Name?) {
    guard let value = name.flatMap({ fields[$0] }) else { return nil }
    var parser = StructuredFieldValueParser(Array(value.utf8))
    guard let dictionary = try? parser.parseDictionaryFieldValue() else { return nil }
    func bytes(_ key: String) -> [UInt8]? {
      guard case .item(let item) = dictionary[key], case .undecodedByteSequence(let text) = item.rfc9651BareItem else {
        return nil
      }
      return Data(base64Encoded: text).map { Array($0) }
    }
    md5 = bytes("md5").flatMap { MD5Digest(bytes: $0) }
    sha256 = bytes("sha-256").flatMap { SHA256Digest(bytes: $0) }
    sha512 = bytes("sha-512").flatMap { SHA512Digest(bytes: $0) }
    guard md5 != nil || sha256 != nil || sha512 != nil else { return nil }
  }
}
