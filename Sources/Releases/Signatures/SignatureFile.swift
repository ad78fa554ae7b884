import Foundation
import HTTPTransport

/// The signatures of a file, in the file beside it whose name has `.sig` at the end.
///
/// ```json
/// { "type": "application/vnd.pagekit.manifest+json", "sha256": "…",
///   "signatures": [ { "keyid": "…", "sig": "…" } ] }
/// ```
///
/// It has the members of a DSSE envelope 1.0.0 except for the payload, which is the other file, byte for byte.
/// `sha256` tells signers which bytes the signatures are of; verifiers do not rely on it.
package struct SignatureFile: Hashable, Sendable, Decodable {
  package struct Signature: Hashable, Sendable {
    /// The id of a ``VerificationKey``.
    package let keyID: SHA256Digest
    package let bytes: [UInt8]

    package init(keyID: SHA256Digest, bytes: [UInt8]) { (self.keyID, self.bytes) = (keyID, bytes) }
  }

  package var kind: SignedKind
  /// The signed file's digest, as the signature file says.
  package var content: SHA256Digest
  package var signatures: [Signature]

  /// - Throws: if libcrypto has no SHA-256.
  package init(of content: [UInt8], as kind: SignedKind) throws {
    self.kind = kind
    self.content = try ContentDigests(of: content).sha256
    signatures = []
  }

  /// The suffix that is added to the signed file's name.
  package static let suffix = ".sig"

  /// The name of the file that a signature file signs; of another file its own name.
  package static func signedName(of name: String) -> String {
    name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : name
  }

  /// The size of a file in bytes; a longer one is refused.
  package static let byteLimit: Int64 = 64 << 10
  /// The signatures of a file; with more it is refused.
  package static let limit = 64

  /// Reads a file. Signatures that are no Ed25519 signatures are left out: they may be of a later version.
  ///
  /// - Throws: ``TrustError/unreadable(_:reason:)``.
  package init(reading bytes: [UInt8]) throws {
    self = try SignedJSON.decode(
      bytes, as: Self.self, of: "the signature file", limit: Self.byteLimit,
      shape:
        "it must have \"type\", \"sha256\", and \"signatures\" that are objects with \"keyid\" and \"sig\"")
  }

  package init(from decoder: any Decoder) throws {
    func refusal(_ reason: String) -> TrustError { .unreadable("the signature file", reason: reason) }
    let file = try decoder.container(keyedBy: AnyKey.self)
    let type = try file.decode(String.self, forKey: "type")
    content = try file.decode(SHA256Digest.self, forKey: "sha256")
    var list = try file.nestedUnkeyedContainer(forKey: "signatures")
    let count = list.count ?? 0
    signatures = []
    while !list.isAtEnd {
      let signature = try list.nestedContainer(keyedBy: AnyKey.self)
      let id = SHA256Digest(hex: try signature.decode(String.self, forKey: "keyid"))
      let bytes = Data(base64Encoded: try signature.decode(String.self, forKey: "sig"))
      guard let id, let bytes, bytes.count == VerificationKey.signatureByteCount else { continue }
      signatures.append(.init(keyID: id, bytes: Array(bytes)))
    }
    guard let kind = SignedKind(rawValue: type) else { throw refusal("its type \(type.quotedForMessage) is unknown") }
    guard count <= Self.limit else { throw refusal("it has \(count) signatures, more than \(Self.limit)") }
    self.kind = kind
  }

  /// The file's bytes.
  package func encoded() throws -> [UInt8] {
    let list = signatures.map {
      ["keyid": JSONValue.string($0.keyID.hex), "sig": .string(Data($0.bytes).base64EncodedString())]
    }
    return try SignedJSON.encode(
      JSONValue.object([
        "type": .string(kind.rawValue), "sha256": .string(content.hex), "signatures": .array(list.map { .object($0) }),
      ]))
  }

  /// The keys that have signed the content.
  ///
  /// - Parameter keys: those that may have.
  package func signers(of content: [UInt8], among keys: some Sequence<VerificationKey>) -> Set<VerificationKey> {
    let message = kind.message(content)
    let known = Dictionary(keys.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    return Set(
      signatures.compactMap { signature in
        known[signature.keyID].flatMap { $0.isValid(signature.bytes, over: message) ? $0 : nil }
      })
  }

  /// Adds a signature in the place of an earlier one of the same key.
  package mutating func add(_ signature: Signature) {
    signatures.removeAll { $0.keyID == signature.keyID }
    signatures.append(signature)
  }
}

extension SigningKey {
  /// Signs a file.
  ///
  /// - Throws: ``KeyError/unavailable``.
  package func sign(_ content: [UInt8], as kind: SignedKind) throws -> SignatureFile.Signature {
    .init(keyID: verificationKey.id, bytes: try signature(over: kind.message(content)))
  }
}

/// The kind of a signed file. Signatures cover the kind and the bytes, so that a file of one kind is never accepted as
/// another.
public enum SignedKind: String, Hashable, Sendable, CaseIterable {
  /// A manifest.
  case manifest = "application/vnd.pagekit.manifest+json"
  /// A list of the keys that may sign.
  case root = "application/vnd.pagekit.root+json"
  /// The publisher's word between two releases.
  case status = "application/vnd.pagekit.status+json"

  /// The message that a signature of the bytes is made over: the pre-authentication encoding of DSSE 1.0.0, "DSSEv1",
  /// the length and text of the kind, the length and bytes of the content, separated by spaces.
  package func message(_ bytes: [UInt8]) -> [UInt8] {
    Array("DSSEv1 \(rawValue.utf8.count) \(rawValue) \(bytes.count) ".utf8) + bytes
  }

  /// The noun for messages.
  package var noun: String {
    switch self {
    case .manifest: "manifest"
    case .root: "root"
    case .status: "status"
    }
  }
}

/// Reads the small JSON files that are signed, or are signatures, and writes what is published beside them.
package enum SignedJSON {
  /// - Parameters:
  ///   - subject: the file in messages, such as `the root`.
  ///   - limit: the largest size in bytes.
  ///   - shape: a clause that says what the file must have.
  /// - Throws: ``TrustError/unreadable(_:reason:)``.
  static func decode<Value: Decodable>(
    _ bytes: [UInt8], as type: Value.Type, of subject: String, limit: Int64, shape: String
  ) throws -> Value {
    func refusal(_ reason: String) -> TrustError { .unreadable(subject, reason: reason) }
    guard Int64(bytes.count) <= limit else { throw refusal("it has more than \(limit) bytes") }
    do {
      return try JSONValue(reading: bytes, limits: .standard).decoded()
    } catch  where bytes.areMarkup {
      throw refusal("it is HTML: the server answers with a page of its own for a file that it does not have")
    } catch let error as TrustError {
      throw error
    } catch let error as JSONError {
      throw refusal("it is not JSON: \(error)")
    } catch DecodingError.dataCorrupted(let context) {
      throw refusal(context.debugDescription)
    } catch {
      throw refusal(shape)
    }
  }

  /// Text for people: sorted, one member on a line.
  package static func encode(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(value)) + [UInt8(ascii: "\n")]
  }
}

extension [UInt8] {
  /// `true` for HTML or XML, which some servers send in the place of a file that they do not have. JSON never begins
  /// like it.
  package var areMarkup: Bool {
    let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = starts(with: byteOrderMark) ? self[byteOrderMark.count...] : self[...]
    return text.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == UInt8(ascii: "<")
  }
}

extension Int64 {
  /// The largest sequence, and the largest version of a root: 2⁶², which times in nanoseconds stay below until the year
  /// 2116. A file with a larger one is refused when it is read, so that a next number can always be counted.
  package static let sequenceLimit: Int64 = 1 << 62
}

/// A time in a signed file: RFC 3339 in UTC and whole seconds, such as `2027-01-01T00:00:00Z`.
public struct SignedTime: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
  /// Seconds since 1970.
  public let seconds: Int64

  package init(seconds: Int64) { self.seconds = seconds }

  /// The present time.
  package static var now: SignedTime { SignedTime(seconds: Int64(Date().timeIntervalSince1970)) }

  /// Returns a later time; the last or first one that there is, if that would be beyond it.
  ///
  /// - Parameter duration: its whole seconds count; negative for an earlier time.
  package func advanced(by duration: Duration) -> SignedTime {
    let by = duration.components.seconds
    let (sum, overflows) = seconds.addingReportingOverflow(by)
    return SignedTime(seconds: overflows ? (by < 0 ? .min : .max) : sum)
  }

  /// Returns `nil` for any other text.
  package init?(_ text: String) {
    guard text.utf8.count == 20, let date = try? Date(text, strategy: .iso8601) else { return nil }
    seconds = Int64(date.timeIntervalSince1970.rounded())
    guard description == text else { return nil }
  }

  /// Decodes a time from its text.
  ///
  /// - Throws: `DecodingError` if the text is not such a time.
  public init(from decoder: any Decoder) throws {
    let text = try String(from: decoder)
    guard let time = SignedTime(text) else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: decoder.codingPath,
          debugDescription: "\(text.quotedForMessage) is no time such as 2027-01-01T00:00:00Z"))
    }
    self = time
  }

  /// Encodes the time as its text.
  ///
  /// - Throws: `EncodingError`.
  public func encode(to encoder: any Encoder) throws { try description.encode(to: encoder) }

  /// The time as it is written; one that four digits of a year cannot express as the nearest that they can.
  public var description: String {
    let written = min(max(seconds, Self.writable.lowerBound), Self.writable.upperBound)
    return String(rfc3339: Double(written))
  }

  /// The years 0001 to 9999.
  private static let writable: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  public static func < (left: SignedTime, right: SignedTime) -> Bool { left.seconds < right.seconds }
}
