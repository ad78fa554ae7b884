import HTTPTransport

/// Another manifest that a manifest names.
package struct ManifestReference: Hashable, Sendable, Codable {
  /// The URL, relative to that of the manifest.
  package var url: String
  /// The SHA-256 of the other manifest's bytes.
  package var sha256: SHA256Digest

  package init(url: String, sha256: SHA256Digest) { (self.url, self.sha256) = (url, sha256) }
}

/// The share of installs that get a release; all others get the manifest's ``Manifest/otherwise``.
package struct Rollout: Hashable, Sendable, Codable {
  /// From 0 to 100.
  package var percent: Double
  /// The text that decides, with an install's id, whether the install is among them. With the same salt a higher percentage
  /// only adds installs.
  package var salt: String

  package init(percent: Double, salt: String) { (self.percent, self.salt) = (percent, salt) }

  /// Returns `true` if the install gets the release: if the first 64 bits of the SHA-256 of the salt, a line feed and the
  /// id, as a fraction of 2⁶⁴, are below the percentage.
  func includes(_ install: String) throws -> Bool {
    if percent >= 100 { return true }
    let digest = try SHA256Digest(of: Array("\(salt)\n\(install)".utf8))
    let number = digest.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return Double(number) / 0x1p64 * 100 < percent
  }
}

extension String {
  /// The numbers of a version such as `1.4.0`, without zeros at the end; `nil` if it is not at most eight numbers with
  /// dots.
  var versionNumbers: [Int]? {
    let parts = split(separator: ".", omittingEmptySubsequences: false)
    var numbers = parts.compactMap { part in part.allSatisfy(\.isASCII) && part.first != "+" ? Int(part) : nil }
    guard numbers.count == parts.count, numbers.count <= 8, numbers.allSatisfy({ $0 >= 0 }) else { return nil }
    while numbers.last == 0 { numbers.removeLast() }
    return numbers
  }
}

extension Manifest {
  /// Takes over the rollout, the channels and the lowest version of another manifest.
  mutating func copyAudience(of former: Manifest) {
    (rollout, otherwise, channels, minimumRuntime) = (
      former.rollout, former.otherwise, former.channels, former.minimumRuntime
    )
  }

  /// Lets all installs get the release.
  package mutating func endRollout() {
    // Installs whose app is too old get the other one.
    (rollout, otherwise) = (nil, minimumRuntime == nil ? nil : otherwise)
  }

  /// Returns `true` if the same hosts get both releases.
  package func hasSameAudience(as other: Manifest) -> Bool {
    rollout == other.rollout && otherwise == other.otherwise && channels == other.channels
      && minimumRuntime == other.minimumRuntime
  }

  /// The manifest for another place: the other manifests that it names have absolute URLs.
  ///
  /// - Parameter url: its own URL.
  package func namingOthersAbsolutely(from url: PageURL) -> Manifest {
    func absolute(_ reference: ManifestReference) -> ManifestReference {
      ManifestReference(url: url.resolving(reference.url)?.text ?? reference.url, sha256: reference.sha256)
    }
    var manifest = self
    manifest.otherwise = otherwise.map(absolute)
    manifest.channels = channels.mapValues(absolute)
    return manifest
  }
}

/// The properties of a host that decide which of a source's releases it gets.
package struct Audience: Hashable, Sendable {
  /// The channel that the app follows; `nil` for none.
  package var channel: String?
  /// The version of the app's own parts, such as its modules; `nil` if the app does not say.
  package var runtimeVersion: String?
  /// `true` for a host that passes releases on.
  package var isInEveryRollout = false

  package init() {}

  /// The channel and the version as a text; empty if there is neither.
  package var text: String {
    channel == nil && runtimeVersion == nil ? "" : "\(channel ?? "")\n\(runtimeVersion ?? "")"
  }
}

/// The manifest that a host takes of those that a source publishes.
package enum ManifestChoice: Hashable, Sendable {
  case this
  case other(ManifestReference)
  /// None of them is for the host, for this reason.
  case none(String)

  /// - Parameters:
  ///   - install: the id of the install.
  ///   - hasTaken: `true` if the store has this release as its newest. It stays in the rollout then.
  package init(of manifest: Manifest, for audience: Audience, install: String, hasTaken: Bool) throws {
    if let channel = audience.channel, let reference = manifest.channels[channel] {
      self = .other(reference)
    } else if let minimum = manifest.minimumRuntime, let version = audience.runtimeVersion,
      let needed = minimum.versionNumbers, version.versionNumbers?.lexicographicallyPrecedes(needed) ?? true
    {
      self =
        manifest.otherwise.map { .other($0) }
        ?? .none("release \(manifest.release) needs the runtime \(minimum), and this is \(version): update the app")
    } else if let rollout = manifest.rollout, let otherwise = manifest.otherwise, !hasTaken,
      !audience.isInEveryRollout, try !rollout.includes(install)
    {
      self = .other(otherwise)
    } else {
      self = .this
    }
  }
}
