import HTTPTransport

/// A place in an object store: `s3://BUCKET/PREFIX`.
package struct S3Location: Hashable, Sendable, CustomStringConvertible {
  /// The name of the bucket.
  package let bucket: String
  /// The start of its objects' keys; it is empty or ends with a slash.
  package let prefix: String

  /// The start of a location's text.
  package static let scheme = "s3://"

  /// - Returns: `nil` for any other text, and for a bucket whose name no store allows.
  package init?(_ text: String) {
    guard text.hasPrefix(Self.scheme) else { return nil }
    let parts = text.dropFirst(Self.scheme.count).split(
      separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let bucket = String(parts[0])
    var prefix = parts.count > 1 ? String(parts[1]) : ""
    if !prefix.isEmpty, !prefix.hasSuffix("/") { prefix += "/" }
    // A URL would lose segments such as "..", and stores differ about empty ones.
    let segments = prefix.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    let isUsable = segments.allSatisfy { !["", ".", ".."].contains($0) }
    guard Self.isBucket(bucket), isUsable, prefix.utf8.count <= 512,
      !prefix.utf8.contains(where: { $0 < 32 || $0 == 127 })
    else { return nil }
    (self.bucket, self.prefix) = (bucket, prefix)
  }

  package var description: String { "\(Self.scheme)\(bucket)/\(prefix)" }

  /// The rule of Amazon S3 for names of general purpose buckets.
  private static func isBucket(_ name: String) -> Bool {
    func isLetterOrDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) || (97...122).contains(byte) }
    guard (3...63).contains(name.utf8.count), let first = name.utf8.first, let last = name.utf8.last else {
      return false
    }
    return isLetterOrDigit(first) && isLetterOrDigit(last) && !name.contains("..")
      && name.utf8.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
  }
}
