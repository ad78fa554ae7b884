import HTTPTransport
import Signing

/// The files beside a manifest that say whether it is trusted: its signatures, and the roots.
package struct SignedFiles: Sendable {
  /// Reads the file at a URL, up to a size; `nil` if there is none.
  package typealias Reading = @Sendable (PageURL, Int64) async throws -> [UInt8]?

  private let source: PageURL
  private let read: Reading

  /// The roots that are followed at once: so many changes of keys a host may have missed.
  private static let rootLimit = 256

  /// - Parameter source: the manifest's URL.
  package init(of source: PageURL, reading read: @escaping Reading) { (self.source, self.read) = (source, read) }

  /// The manifest's signatures; `nil` if it has none.
  ///
  /// - Throws: ``TrustError``, what reading throws.
  package func signatures() async throws -> SignatureFile? { try await signatures(of: source) }

  private func signatures(of url: PageURL) async throws -> SignatureFile? {
    guard let file = url.appendingToPath(SignatureFile.suffix),
      let bytes = try await read(file, SignatureFile.byteLimit)
    else { return nil }
    return try SignatureFile(reading: bytes)
  }

  /// Follows the roots from one that is trusted to the newest.
  ///
  /// - Parameter trusted: gets each root that was found, with its bytes and the one before it, once it is trusted.
  /// - Throws: ``TrustError``, what reading and `trusted` throw.
  package func newestRoot(
    from root: TrustRoot, _ trusted: (TrustRoot, [UInt8], TrustRoot) async throws -> Void = { _, _, _ in }
  ) async throws -> TrustRoot {
    var root = root
    for _ in 0..<Self.rootLimit {
      guard let url = source.resolving("\(root.version + 1).root.json"),
        let bytes = try await read(url, TrustRoot.byteLimit)
      else { break }
      let next = try root.successor(bytes, try await signatures(of: url))
      try await trusted(next, bytes, root)
      root = next
    }
    return root
  }
}
