import HTTPCaching
import HTTPTransport
import Signing

/// The files beside a manifest that say whether it is trusted: its signatures, the roots, and the status.
package struct SignedFiles: Sendable {
  /// Reads the file at a URL, up to a size; `nil` if there is none.
  package typealias Reading = @Sendable (PageURL, Int64) async throws -> [UInt8]?

  private let source: PageURL
  private let read: Reading

  /// The number of roots that are followed at once. A host that has missed more follows the rest at its next checks.
  static let rootLimit = 256

  /// - Parameter source: the manifest's URL.
  package init(of source: PageURL, reading read: @escaping Reading) { (self.source, self.read) = (source, read) }

  /// The bytes of the manifest's signature file; `nil` if there is none.
  ///
  /// - Throws: what reading throws.
  func signatures() async throws -> [UInt8]? { try await signatures(of: source) }

  /// The manifest's signatures; `nil` if there is no file of them.
  ///
  /// - Throws: ``TrustError``, what reading throws.
  package func signatureFile() async throws -> SignatureFile? {
    try await signatures().map { try SignatureFile(reading: $0) }
  }

  /// The status; `nil` if there is none.
  ///
  /// - Throws: what reading throws.
  package func status() async throws -> PublishedStatus? {
    guard let url = statusURL, let bytes = try await read(url, ReleaseStatus.byteLimit) else { return nil }
    return PublishedStatus(bytes: bytes, signatures: try await signatures(of: url))
  }

  var statusURL: PageURL? { source.resolving(ReleaseStatus.fileName) }

  /// The bytes of the status's signature file; `nil` if there is none.
  ///
  /// - Throws: what reading throws.
  func statusSignatures() async throws -> [UInt8]? {
    guard let url = statusURL else { return nil }
    return try await signatures(of: url)
  }

  private func signatures(of url: PageURL) async throws -> [UInt8]? {
    guard let file = url.appendingToPath(SignatureFile.suffix) else { return nil }
    return try await read(file, SignatureFile.byteLimit)
  }

  /// The root of a version, as it is published; `nil` if there is none.
  ///
  /// A server whose answer cannot be told from that for a missing file has no root: a store whose files may not be listed
  /// answers 403, and some servers answer with a page of their own. One that does so to hide a root gains what it gains
  /// by a 404.
  ///
  /// - Throws: what reading throws.
  package func root(_ version: Int64) async throws -> PublishedRoot? {
    guard let url = source.resolving(PublishedRoot.name(of: version)) else { return nil }
    let found: [UInt8]?
    do {
      found = try await read(url, TrustRoot.byteLimit)
    } catch SourceError.unreachable(_, let fault as HTTPFault) where fault.status == 403 {
      return nil
    }
    guard let bytes = found, !bytes.areMarkup else { return nil }
    return PublishedRoot(version: version, bytes: bytes, signatures: try await signatures(of: url))
  }

  /// Follows the roots from one that is trusted to the newest.
  ///
  /// If there are too many to be followed at once, none is returned: a key that a later root gives up might still sign
  /// for the one that was reached.
  ///
  /// - Parameter trusted: gets each root that was found, as it is published, and the one before it, once it is trusted.
  /// - Throws: ``TrustError``, such as ``TrustError/moreRoots(after:)``; what reading and `trusted` throw.
  package func newestRoot(
    from root: TrustRoot, _ trusted: (TrustRoot, PublishedRoot, TrustRoot) async throws -> Void = { _, _, _ in }
  ) async throws -> TrustRoot {
    var root = root
    for _ in 0..<Self.rootLimit {
      guard let published = try await nextRoot(after: root) else { return root }
      let next = try root.successor(published.bytes, published.signatureFile())
      try await trusted(next, published, root)
      root = next
    }
    guard try await nextRoot(after: root) == nil else { throw TrustError.moreRoots(after: root.version) }
    return root
  }

  private func nextRoot(after root: TrustRoot) async throws -> PublishedRoot? {
    root.version < Int64.sequenceLimit ? try await self.root(root.version + 1) : nil
  }

  /// Reads the roots from one version on, without a check by whom they are signed.
  ///
  /// - Parameter first: the version of the first one; those before `certain` may be missing.
  package func roots(from first: Int64, certain: Int64) async throws -> [PublishedRoot] {
    var roots: [PublishedRoot] = []
    // No root has a version beyond the largest.
    for version in first..<max(first, min(first, Int64.sequenceLimit) + Int64(Self.rootLimit)) {
      // A web server may answer with a page of its own for a file that it does not have.
      if let root = try await root(version), (try? TrustRoot(reading: root.bytes))?.version == version {
        roots.append(root)
      } else if version >= certain {
        break
      }
    }
    return roots
  }
}

extension SignatureFile {
  /// The name of the file that a signature file signs; of another file its own name.
  static func signedName(of name: String) -> String {
    name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : name
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

/// A status and its signatures, as they are published beside a manifest.
package struct PublishedStatus: Hashable, Sendable {
  package let bytes: [UInt8]
  /// The bytes of its signature file; `nil` if there is none.
  package let signatures: [UInt8]?
  /// The validators with which the server sent it.
  package var validators: Validators

  package init(bytes: [UInt8], signatures: [UInt8]?, validators: Validators = Validators()) {
    (self.bytes, self.signatures, self.validators) = (bytes, signatures, validators)
  }

  /// Returns `true` if both have the same bytes.
  package func isSame(as other: PublishedStatus?) -> Bool {
    bytes == other?.bytes && signatures == other?.signatures
  }

  /// Reads the signature file.
  ///
  /// - Throws: ``TrustError/unreadable(_:reason:)``.
  package func signatureFile() throws -> SignatureFile? { try signatures.map { try SignatureFile(reading: $0) } }
}
