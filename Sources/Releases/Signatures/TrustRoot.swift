import Foundation
import HTTPTransport

/// The keys that may sign, and how many of them it takes: what a host has to begin with, as a file or in the app.
///
/// ```json
/// { "kind": "root", "version": 1, "expires": "2027-11-25T00:00:00Z",
///   "keys": { "ID": "BASE64 OF THE PUBLIC KEY" },
///   "roles": { "root": { "keys": ["ID"], "threshold": 1 }, "release": { "keys": ["ID"], "threshold": 1 } } }
/// ```
///
/// The role `online` may be missing. Readers leave out roles that they do not know.
///
/// A root is followed by the one with the next version, which both have to sign: as many keys as the threshold of the
/// `root` role says, of the old root and of the new one. That is how keys change, and how a lost one is survived where
/// the threshold is lower than the number of keys. The rules are those of The Update Framework 1.0.34 §5.3.
package struct TrustRoot: Hashable, Sendable {
  /// A key's right to sign one kind of file.
  package enum Role: String, Hashable, Sendable, CaseIterable {
    /// The next root.
    case root
    /// Manifests, and the status.
    case release
    /// The status alone. A root may be without this role; hosts then ask for no status.
    case online

    /// `true` if every root has the role.
    var isRequired: Bool { self != .online }
  }

  package struct Signers: Hashable, Sendable, Codable {
    package var keys: Set<SHA256Digest>
    /// The keys that it takes, at least 1.
    package var threshold: Int

    package init(keys: Set<SHA256Digest>, threshold: Int) { (self.keys, self.threshold) = (keys, threshold) }

    package func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(keys.sorted { $0.hex < $1.hex }, forKey: .keys)
      try container.encode(threshold, forKey: .threshold)
    }
  }

  /// From 1 on.
  package var version: Int64
  package var expires: SignedTime
  package var keys: [SHA256Digest: VerificationKey]
  package var roles: [Role: Signers]

  /// The size of a root in bytes; a longer one is refused.
  package static let byteLimit: Int64 = 64 << 10
  /// The keys of a root; with more it is refused.
  package static let keyLimit = 64

  package init(version: Int64, expires: SignedTime, roles: [Role: (keys: [VerificationKey], threshold: Int)]) {
    self.version = version
    self.expires = expires
    keys = Dictionary(roles.values.flatMap(\.keys).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    self.roles = roles.mapValues { Signers(keys: Set($0.keys.map(\.id)), threshold: $0.threshold) }
  }

  /// Returns `true` if a key may sign statuses: its role is `online` or `release`.
  package func allowsStatuses(of key: VerificationKey) -> Bool {
    [Role.online, .release].contains { roles[$0]?.keys.contains(key.id) == true }
  }

  // MARK: Files

  private struct File: Codable {
    let kind: String
    let version: Int64
    let expires: SignedTime
    let keys: [String: String]
    let roles: [String: Signers]
  }

  /// Reads a root. Whether it may be trusted is another question.
  ///
  /// - Throws: ``TrustError/unreadable(_:reason:)``.
  package init(reading bytes: [UInt8]) throws {
    func refusal(_ reason: String) -> TrustError { .unreadable("the root", reason: reason) }
    let file = try SignedJSON.decode(
      bytes, as: File.self, of: "the root", limit: Self.byteLimit,
      shape: "it must have \"kind\", \"version\", \"expires\", \"keys\" and \"roles\"")
    guard file.kind == "root" else { throw refusal("its kind is \(file.kind.quotedForMessage), not \"root\"") }
    guard file.keys.count <= Self.keyLimit else {
      throw refusal("it has \(file.keys.count) keys, more than \(Self.keyLimit)")
    }
    version = file.version
    expires = file.expires
    keys = [:]
    for (id, text) in file.keys {
      guard let key = VerificationKey(base64: text) else {
        throw refusal(
          "its key \(id.quotedForMessage) is not the base64 of the 32 bytes of an Ed25519 key that only its owner can sign for"
        )
      }
      guard key.id.hex == id else {
        throw refusal("its key \(id.quotedForMessage) has another SHA-256, \(key.id)")
      }
      keys[key.id] = key
    }
    roles = [:]
    for (name, signers) in file.roles {
      // A later version may have roles that this one does not know.
      guard let role = Role(rawValue: name) else { continue }
      roles[role] = signers
    }
    if let fault { throw refusal(fault) }
  }

  /// The fault of the root, as a clause; `nil` for a root that can be used.
  package var fault: String? {
    if version < 1 { return "its version is \(version), the first one is 1" }
    if version > Int64.sequenceLimit {
      return "its version is \(version), the last one is \(Int64.sequenceLimit)"
    }
    for role in Role.allCases {
      guard let signers = roles[role] else {
        if role.isRequired { return "it has no role \"\(role.rawValue)\"" }
        continue
      }
      if let stranger = signers.keys.first(where: { keys[$0] == nil }) {
        return "its role \"\(role.rawValue)\" names the key \(stranger), which is not among its keys"
      }
      if !(1...max(1, signers.keys.count)).contains(signers.threshold) || signers.keys.isEmpty {
        return
          "its role \"\(role.rawValue)\" asks for \(signers.threshold) of \(signers.keys.count) keys, which cannot be"
      }
    }
    return nil
  }

  /// The file's bytes, over which signatures are made.
  package func encoded() throws -> [UInt8] {
    try SignedJSON.encode(
      File(
        kind: "root", version: version, expires: expires,
        keys: Dictionary(uniqueKeysWithValues: keys.map { ($0.key.hex, $0.value.base64) }),
        roles: Dictionary(uniqueKeysWithValues: roles.map { ($0.key.rawValue, $0.value) })))
  }

  // MARK: Deciding

  /// The keys of a role.
  package func keys(of role: Role) -> [VerificationKey] { roles[role]?.keys.compactMap { keys[$0] } ?? [] }

  /// Checks that enough keys of a role have signed.
  ///
  /// - Parameters:
  ///   - content: the signed file's bytes.
  ///   - signatures: those beside it; `nil` if there is no such file.
  /// - Throws: ``TrustError/unsigned(_:)``, ``TrustError/wronglySigned(_:valid:threshold:)``.
  package func check(_ content: [UInt8], _ signatures: SignatureFile?, by role: Role, as kind: SignedKind) throws {
    guard let signatures, signatures.kind == kind, !signatures.signatures.isEmpty else {
      throw TrustError.unsigned(kind)
    }
    let valid = signatures.signers(of: content, among: keys(of: role)).count
    let threshold = roles[role]?.threshold ?? .max
    guard valid >= threshold else { throw TrustError.wronglySigned(kind, valid: valid, threshold: threshold) }
  }

  /// `true` if a host has to ask for a status.
  package var asksForStatus: Bool { roles[.online] != nil }

  /// Checks that enough keys of the online role, or of the release role, have signed a status.
  ///
  /// - Throws: ``TrustError/unsigned(_:)``, ``TrustError/wronglySigned(_:valid:threshold:)``.
  package func checkStatus(_ content: [UInt8], _ signatures: SignatureFile?) throws {
    do {
      try check(content, signatures, by: .online, as: .status)
    } catch let error as TrustError {
      guard (try? check(content, signatures, by: .release, as: .status)) != nil else { throw error }
    }
  }

  /// The root that follows this one.
  ///
  /// It may have expired: only the last of a row of roots has to be valid still, so that a host that was away for long
  /// finds the way to it.
  ///
  /// - Throws: ``TrustError``.
  package func successor(_ content: [UInt8], _ signatures: SignatureFile?) throws -> TrustRoot {
    let next = try TrustRoot(reading: content)
    guard next.version == version + 1 else {
      throw TrustError.wrongRootVersion(expected: version + 1, found: next.version)
    }
    try check(content, signatures, by: .root, as: .root)
    try next.check(content, signatures, by: .root, as: .root)
    return next
  }

  /// - Throws: ``TrustError/expiredRoot(version:at:)``.
  package func checkExpiry(at now: SignedTime) throws {
    guard now < expires else { throw TrustError.expiredRoot(version: version, at: expires) }
  }
}

/// The reason why something signed is not trusted. Nothing of it is used.
public enum TrustError: Error, Hashable, CustomStringConvertible {
  /// A file cannot be read.
  ///
  /// - Parameters:
  ///   - subject: such as `the root`.
  ///   - reason: a clause.
  case unreadable(_ subject: String, reason: String)
  /// There is no signature.
  case unsigned(SignedKind)
  /// Fewer keys have signed than must.
  case wronglySigned(SignedKind, valid: Int, threshold: Int)
  /// The signature file says that it is of other bytes.
  case otherBytes(SignedKind)
  /// A root's time is over.
  case expiredRoot(version: Int64, at: SignedTime)
  /// A root is not the next one.
  case wrongRootVersion(expected: Int64, found: Int64)
  /// The time of a manifest or a status is over.
  case expired(SignedKind = .manifest, at: SignedTime)
  /// A manifest has no `expires`.
  case unlimited
  /// The sequence of a manifest or a status is lower than one that was trusted before.
  case rollback(SignedKind = .manifest, known: Int64, found: Int64)
  /// Two manifests, or two statuses, have the same sequence.
  case ambiguous(SignedKind = .manifest, sequence: Int64)
  /// A manifest or a status does not say when it was signed, or that was too long ago.
  case frozen(SignedKind = .manifest, signed: SignedTime?, oldest: SignedTime)
  /// A manifest or a status says that it was signed later than now.
  case future(SignedKind = .manifest, signed: SignedTime, latest: SignedTime)
  /// There are more roots than are followed at once. Those that were followed are remembered.
  case moreRoots(after: Int64)
  /// The root has the role `online`, and there is no status.
  case noStatus
  /// The status is of another manifest than the one that the server has.
  case otherManifest(named: String, sequence: Int64, sha256: SHA256Digest, found: SHA256Digest)
  /// Entries lack the `sha256` or `size` that binds their bytes.
  case unbound(entry: String, count: Int)
  /// A manifest is of another program, whose form binds no bytes.
  case foreign(dialect: String)

  public var description: String {
    switch self {
    case .unreadable(let subject, let reason): return "\(subject) cannot be read: \(reason)"
    case .unsigned(let kind): return "the \(kind.noun) is not signed: there is no signature file of it"
    case .wronglySigned(let kind, let valid, let threshold):
      return "the \(kind.noun) has valid signatures of \(valid) trusted keys, \(threshold) are needed"
    case .otherBytes(let kind): return "the signature file beside the \(kind.noun) is of other bytes"
    case .expiredRoot(let version, let time):
      return "the root, version \(version), has expired at \(time): its keys have to sign the next one"
    case .wrongRootVersion(let expected, let found):
      return "the next root must have version \(expected), found \(found)"
    case .expired(let kind, let time): return "the \(kind.noun) has expired at \(time): it has to be signed anew"
    case .unlimited: return "the manifest is signed for ever: give it \"expires\", a time such as 2027-01-01T00:00:00Z"
    case .rollback(let kind, let known, let found):
      return "the \(kind.noun) has sequence \(found), but \(known) was trusted before: a server may not go back"
    case .ambiguous(let kind, let sequence):
      return "the \(kind.noun) has sequence \(sequence), which another one with other bytes has too"
    case .frozen(let kind, let signed, let oldest):
      let found = signed.map { "was signed at \($0)" } ?? "does not say when it was signed (\"signed\")"
      return "the \(kind.noun) \(found), which must be after \(oldest): the server may hide newer ones"
    case .future(let kind, let signed, let latest):
      return
        "the \(kind.noun) was signed at \(signed), which must not be after \(latest): check the clocks of this host and of the one that signs"
    case .moreRoots(let version):
      return
        "root \(version) is trusted, and newer ones follow it: nothing is taken until the newest is reached, and the next check goes on from there"
    case .noStatus:
      return
        "there is no \(ReleaseStatus.fileName) beside the manifest, which the root's role \"online\" asks for"
    case .otherManifest(let name, let sequence, let sha256, let found):
      return
        "the status is of release \(name), sequence \(sequence), whose manifest has the SHA-256 \(sha256); the server's has \(found)"
    case .unbound(let entry, let count):
      let rest = count > 1 ? ", and \(count - 1) more entries," : ""
      return "the manifest's \(entry)\(rest) must have \"sha256\" and \"size\", so that the signature binds the bytes"
    case .foreign(let dialect):
      return "the manifest is of \(dialect), whose form cannot be signed"
    }
  }
}

/// A root and its signatures, as they are published beside a manifest.
package struct PublishedRoot: Hashable, Sendable {
  package let version: Int64
  package let bytes: [UInt8]
  /// The bytes of its signature file; `nil` if there is none.
  package let signatures: [UInt8]?

  package init(version: Int64, bytes: [UInt8], signatures: [UInt8]?) {
    (self.version, self.bytes, self.signatures) = (version, bytes, signatures)
  }

  package func signatureFile() throws -> SignatureFile? { try signatures.map { try SignatureFile(reading: $0) } }

  /// The name of its file.
  package static func name(of version: Int64) -> String { "\(version).root.json" }

  /// The version of the root with this file name; `nil` if it is not that of a root.
  package static func version(ofFile name: String) -> Int64? {
    Int64(name.prefix { $0 != "." }).flatMap { name == Self.name(of: $0) ? $0 : nil }
  }
}
