import HTTPTransport

/// A publisher's word about its current release, in the file `status.json` beside the manifest: the release, the bundles
/// that are switched off, and if hosts go on to it or back.
///
/// ```json
/// { "kind": "status", "sequence": 7, "signed": "2027-01-01T00:00:00Z", "expires": "2027-01-08T00:00:00Z",
///   "release": { "name": "r5", "sequence": 5, "sha256": "DIGEST OF THE MANIFEST" },
///   "disabled": [ { "bundle": "pay", "message": "Paying is off until noon." } ],
///   "rollbackTo": { "sequence": 4, "sha256": "DIGEST OF AN EARLIER MANIFEST" }, "halted": true }
/// ```
///
/// Keys of the role ``TrustRoot/Role/online`` sign it, which a publishing host may have: it only names manifests, whose
/// bytes keys of the role `release` have signed. Members that are not known are left out: a later version may have them.
package struct ReleaseStatus: Hashable, Sendable, Codable {
  /// The release whose manifest is published beside the status.
  package struct Release: Hashable, Sendable, Codable {
    package let name: String
    package let sequence: Int64
    /// The SHA-256 of the manifest's bytes.
    package let sha256: SHA256Digest

    package init(name: String, sequence: Int64, sha256: SHA256Digest) {
      (self.name, self.sequence, self.sha256) = (name, sequence, sha256)
    }
  }

  /// A bundle that no host opens.
  package struct Disabled: Hashable, Sendable, Codable {
    /// The bundle's name in manifests.
    package let bundle: String
    /// The text for the user.
    package let message: String

    package init(bundle: String, message: String) { (self.bundle, self.message) = (bundle, message) }
  }

  /// A published manifest, by its sequence and its bytes.
  package struct Manifest: Hashable, Sendable, Codable {
    package let sequence: Int64
    /// The SHA-256 of its bytes.
    package let sha256: SHA256Digest

    package init(sequence: Int64, sha256: SHA256Digest) { (self.sequence, self.sha256) = (sequence, sha256) }
  }

  /// A number that grows with each status, from 1 on. It is not the releases' sequence.
  package var sequence: Int64
  package var signed: SignedTime
  /// The time from which the status is not used any more.
  package var expires: SignedTime
  package var release: Release
  /// Sorted by name.
  package var disabled: [Disabled]
  /// The manifest of the release that hosts go back to; `nil` for none.
  package var rollbackTo: Manifest?
  /// `true` if no host switches to the release that has not done so.
  package var isHalted: Bool

  package init(
    sequence: Int64, signed: SignedTime, expires: SignedTime, release: Release, disabled: [Disabled] = [],
    rollbackTo: Manifest? = nil, isHalted: Bool = false
  ) {
    self.sequence = sequence
    self.signed = signed
    self.expires = expires
    self.release = release
    self.disabled = disabled.sorted { $0.bundle < $1.bundle }
    self.rollbackTo = rollbackTo
    self.isHalted = isHalted
  }

  /// The part of a status that a person decides.
  ///
  /// Its file may have the form of a status, or only these members: `{"disabled": [{"bundle": "pay", "message": "…"}]}`.
  package struct Directives: Hashable, Sendable, Decodable {
    /// The name and sequence of the release that it was written for; `nil` for each release.
    let release: Target?
    let disabled: [Disabled]
    let rollbackTo: Manifest?
    let isHalted: Bool

    struct Target: Hashable, Sendable, Codable {
      let name: String
      let sequence: Int64
    }

    /// Reads the directives of a file.
    ///
    /// - Throws: ``TrustError/unreadable(_:reason:)``.
    package init(reading bytes: [UInt8]) throws {
      self = try SignedJSON.decode(
        bytes, as: Self.self, of: "the status", limit: ReleaseStatus.byteLimit,
        shape:
          "\"disabled\" must be a list of objects with \"bundle\" and \"message\", and \"halted\" true or false")
    }

    package init(from decoder: any Decoder) throws {
      let file = try decoder.container(keyedBy: AnyKey.self)
      release = try file.decodeIfPresent(Target.self, forKey: "release")
      disabled = try file.decodeIfPresent([Disabled].self, forKey: "disabled") ?? []
      rollbackTo = try file.decodeIfPresent(Manifest.self, forKey: "rollbackTo")
      isHalted = try file.decodeIfPresent(Bool.self, forKey: "halted") ?? false
    }

    package init(_ status: ReleaseStatus) {
      release = Target(name: status.release.name, sequence: status.release.sequence)
      (disabled, rollbackTo, isHalted) = (status.disabled, status.rollbackTo, status.isHalted)
    }
  }

  /// The status that a publishing host signs.
  ///
  /// - Parameters:
  ///   - directives: the decisions of people; `nil` for none. Bundles that they disable are off in each release; a halt and a
  ///     way back are of the release that they were written for.
  ///   - isHalted: `true` if the host halts the release.
  package init(
    _ directives: Directives?, of release: Release, sequence: Int64, signed: SignedTime, expires: SignedTime,
    isHalted: Bool
  ) {
    let target = directives?.release
    let isMeant = target.map { $0 == Directives.Target(name: release.name, sequence: release.sequence) } ?? true
    self.init(
      sequence: sequence, signed: signed, expires: expires, release: release, disabled: directives?.disabled ?? [],
      rollbackTo: isMeant ? directives?.rollbackTo : nil, isHalted: isHalted || isMeant && directives?.isHalted == true)
  }

  /// The SHA-256 of the manifest that hosts do not switch to; `nil` for none.
  package var withheld: SHA256Digest? { isHalted || rollbackTo != nil ? release.sha256 : nil }

  /// The name of the file, beside the manifest.
  package static let fileName = "status.json"
  /// The size of a status in bytes; a longer one is refused.
  package static let byteLimit: Int64 = 64 << 10
  /// The number of disabled bundles; with more a status is refused.
  package static let disabledLimit = 256
  /// The size of a name in bytes.
  package static let nameLimit = 1024
  /// The size of a message in bytes.
  package static let messageLimit = 2000

  // MARK: Files

  private static let kind = "status"

  /// Reads a status. The signatures are another question.
  ///
  /// - Throws: ``TrustError/unreadable(_:reason:)``.
  package init(reading bytes: [UInt8]) throws {
    self = try SignedJSON.decode(
      bytes, as: Self.self, of: "the status", limit: Self.byteLimit,
      shape:
        "it must have \"kind\", \"sequence\", \"signed\", \"expires\", and \"release\" with \"name\", \"sequence\" and \"sha256\"; it may have \"disabled\", \"rollbackTo\" and \"halted\""
    )
    if let fault { throw TrustError.unreadable("the status", reason: fault) }
  }

  /// The fault of the status, as a clause; `nil` for one that can be used.
  package var fault: String? {
    if sequence < 1 { return "its sequence is \(sequence), the first one is 1" }
    for number in [sequence, release.sequence] where number > Int64.sequenceLimit {
      return "it has the sequence \(number), the largest one is \(Int64.sequenceLimit)"
    }
    if expires <= signed { return "it expires at \(expires), which is not after it was signed, at \(signed)" }
    if release.sequence < 0 { return "its release has sequence \(release.sequence), which must not be negative" }
    if !release.name.isText(upTo: Self.nameLimit) {
      return "its release's name must have 1 to \(Self.nameLimit) bytes without control characters"
    }
    if disabled.count > Self.disabledLimit {
      return "it disables \(disabled.count) bundles, more than \(Self.disabledLimit)"
    }
    var names: Set<String> = []
    for item in disabled {
      let name = item.bundle.quotedForMessage
      if !item.bundle.isText(upTo: Self.nameLimit) {
        return "the name of a disabled bundle must have 1 to \(Self.nameLimit) bytes without control characters"
      }
      if !item.message.isText(upTo: Self.messageLimit) {
        return "the message of \(name) must have 1 to \(Self.messageLimit) bytes without control characters"
      }
      if !names.insert(item.bundle).inserted { return "it disables \(name) twice" }
    }
    if let rollbackTo, !(0..<release.sequence).contains(rollbackTo.sequence) {
      return
        "it goes back to sequence \(rollbackTo.sequence), which must be lower than that of its release, \(release.sequence)"
    }
    return nil
  }

  /// The file's bytes, over which signatures are made.
  package func encoded() throws -> [UInt8] { try SignedJSON.encode(self) }

  package init(from decoder: any Decoder) throws {
    let file = try decoder.container(keyedBy: AnyKey.self)
    let kind = try file.decode(String.self, forKey: "kind")
    self.init(
      sequence: try file.decode(Int64.self, forKey: "sequence"),
      signed: try file.decode(SignedTime.self, forKey: "signed"),
      expires: try file.decode(SignedTime.self, forKey: "expires"),
      release: try file.decode(Release.self, forKey: "release"),
      disabled: try file.decodeIfPresent([Disabled].self, forKey: "disabled") ?? [],
      rollbackTo: try file.decodeIfPresent(Manifest.self, forKey: "rollbackTo"),
      isHalted: try file.decodeIfPresent(Bool.self, forKey: "halted") ?? false)
    guard kind == Self.kind else {
      throw TrustError.unreadable(
        "the status", reason: "its kind is \(kind.quotedForMessage), not \"\(Self.kind)\"")
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var file = encoder.container(keyedBy: AnyKey.self)
    try file.encode(Self.kind, forKey: "kind")
    try file.encode(sequence, forKey: "sequence")
    try file.encode(signed, forKey: "signed")
    try file.encode(expires, forKey: "expires")
    try file.encode(release, forKey: "release")
    if !disabled.isEmpty { try file.encode(disabled, forKey: "disabled") }
    try file.encodeIfPresent(rollbackTo, forKey: "rollbackTo")
    if isHalted { try file.encode(true, forKey: "halted") }
  }
}

extension String {
  /// Returns `true` for a text that is not empty, not longer than a number of bytes, and on one line.
  fileprivate func isText(upTo limit: Int) -> Bool {
    !isEmpty && utf8.count <= limit && !unicodeScalars.contains { $0.properties.generalCategory == .control }
  }
}
