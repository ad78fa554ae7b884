import Foundation
import HTTPTransport
import Releases

// A signed publication is checked as hosts with keys will check it: a root that they refuse keeps them from all that is
// published after it, and caches may have it for a year.
extension FolderPublication {
  private var now: SignedTime { SignedTime(seconds: Int64(releases.now().timeIntervalSince1970)) }

  /// Follows the roots of the folder and those that are published, and checks that the signers are keys of the newest.
  ///
  /// - Returns: the newest root; `nil` if there is none, neither in the folder nor published.
  /// - Throws: ``PublishError/refusedByHosts(_:reason:)``, ``ObjectStoreError``, ``TransportError``, `CancellationError`.
  func newestRoot() async throws -> TrustRoot? {
    let own = try FileManager.default.contentsOfDirectory(atPath: folder).compactMap(PublishedRoot.version(ofFile:))
    let least = own.min() ?? 1
    guard var newest = try await root(least) else { return nil }
    var root = try naming(newest) { try TrustRoot(reading: newest.root.bytes) }
    if root.version != least {
      throw refusal(newest, TrustError.wrongRootVersion(expected: least, found: root.version))
    }
    if least > 1 {
      // Hosts begin with an earlier one.
      guard let before = try await self.root(least - 1) else { throw missing(least - 1, before: newest) }
      root = try naming(before) { try TrustRoot(reading: before.root.bytes) }
      root = try naming(newest) { try root.successor(newest.root.bytes, newest.root.signatureFile()) }
    }
    while root.version < Int64.sequenceLimit, let next = try await self.root(root.version + 1) {
      root = try naming(next) { [root] in try root.successor(next.root.bytes, next.root.signatureFile()) }
      newest = next
    }
    if let stray = own.filter({ $0 > root.version }).min(), let found = try await self.root(stray) {
      throw missing(stray - 1, before: found)
    }
    try naming(newest) { [root] in try root.checkExpiry(at: now) }
    if let fault = fault(of: root) { throw PublishError.refusedByHosts(newest.place, reason: fault) }
    return root
  }

  /// Checks a signed manifest.
  ///
  /// - Parameters:
  ///   - root: the newest one; `nil` if it is not known.
  ///   - current: the manifest of the release that is current.
  /// - Throws: ``PublishError/refusedByHosts(_:reason:)``.
  func checkForHosts(_ bytes: [UInt8], _ signatures: [UInt8], by root: TrustRoot?, after current: Manifest?) throws {
    do {
      let manifest = try Manifest(reading: bytes, limits: releases.limits)
      guard let root else { return }
      let known = current.flatMap { current in
        current.expires.map { _ in
          (sequence: current.sequence, manifest: current.sequence == manifest.sequence ? current : nil)
        }
      }
      try ManifestTrust(root: root).check(
        manifest, bytes, try SignatureFile(reading: signatures), after: known, at: now)
    } catch {
      throw PublishError.refusedByHosts("the manifest", reason: error.sentence)
    }
  }

  /// Returns the reason why hosts would refuse what follows the root, or `nil`.
  private func fault(of root: TrustRoot) -> String? {
    let (signers, threshold) = (Set(options.signers), root.roles[.release]?.threshold ?? 1)
    if let stranger = options.signers.first(where: { root.roles[.release]?.keys.contains($0.id) != true }) {
      return "the key \(stranger.id), which is to sign the manifest, is not among its keys for releases"
    }
    if !signers.isEmpty, signers.count < threshold {
      return "a manifest needs the signatures of \(threshold) of its keys, and \(signers.count) is to sign"
    }
    if root.asksForStatus, !options.statusIsElsewhere {
      return
        "hosts ask for a status of the manifest beside it, since the root has the role \"online\", and publishing makes none: with --status-elsewhere another host signs it, as renderhost does with --status-sign-with"
    }
    return nil
  }

  // MARK: Roots

  /// A root, and its path in the folder or its URL.
  private typealias FoundRoot = (place: String, root: PublishedRoot)

  /// The root of a version in the folder, or else the published one; `nil` if there is none.
  private func root(_ version: Int64) async throws -> FoundRoot? {
    let name = PublishedRoot.name(of: version)
    let path = "\(folder)/\(name)"
    let published = try await releases.store.object(name, upTo: TrustRoot.byteLimit)
    if let own = FileManager.default.contents(atPath: path) {
      if let published, published.bytes != Array(own) {
        throw PublishError.refusedByHosts(
          path, reason: "\(releases.url(of: name)) has other bytes, and hosts have trusted those")
      }
      let signatures = FileManager.default.contents(atPath: path + SignatureFile.suffix).map { Array($0) }
      return (path, PublishedRoot(version: version, bytes: Array(own), signatures: signatures))
    }
    guard let published else { return nil }
    let signatures = try await releases.store.object(name + SignatureFile.suffix, upTo: SignatureFile.byteLimit)?.bytes
    return (
      releases.url(of: name).text, PublishedRoot(version: version, bytes: published.bytes, signatures: signatures)
    )
  }

  private func naming<Value>(_ root: FoundRoot, _ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch {
      throw refusal(root, error)
    }
  }

  private func refusal(_ root: FoundRoot, _ error: any Error) -> PublishError {
    .refusedByHosts(root.place, reason: error.sentence)
  }

  private func missing(_ version: Int64, before root: FoundRoot) -> PublishError {
    .refusedByHosts(
      root.place,
      reason: "hosts come to it by \(PublishedRoot.name(of: version)), which is neither in \(folder) nor published")
  }
}
