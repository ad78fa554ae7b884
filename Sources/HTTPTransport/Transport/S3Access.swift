import HTTPTypes

/// The server of an object store, and the key for it.
package struct S3Access: Hashable, Sendable {
  /// The URL of the store; `nil` for that of Amazon S3.
  package let endpoint: PageURL?
  package let region: String
  /// `nil` for a bucket that everybody may read.
  package let signing: RequestSigning?

  /// Reads the environment variables that Amazon's own tools read: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
  /// `AWS_SESSION_TOKEN`, `AWS_REGION` or `AWS_DEFAULT_REGION`, and `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL`.
  ///
  /// - Throws: ``DescribedError``.
  package init(environment: [String: String]) throws {
    func value(_ names: String...) throws -> String? {
      guard let name = names.first(where: { environment[$0]?.isEmpty == false }), let text = environment[name] else {
        return nil
      }
      // It becomes a part of header fields. The message does not show it, since it may be a secret.
      guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
        throw DescribedError(
          "\(name) has a line break or another control character, which no key, region or URL has")
      }
      return text
    }
    region = try value("AWS_REGION", "AWS_DEFAULT_REGION") ?? "us-east-1"
    // It becomes a part of the host's name.
    guard region.utf8.allSatisfy({ $0 > 32 && $0 < 127 && !":/?#@%[]\\".utf8.contains($0) }) else {
      throw DescribedError("AWS_REGION is \(region.quotedForMessage), which is no region")
    }
    if let text = try value("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL") {
      guard let url = PageURL(text), !url.isFile, !url.text.contains("?") else {
        throw DescribedError(
          "AWS_ENDPOINT_URL is \(text.quotedForMessage), which is no http or https URL of an object store")
      }
      endpoint = url
    } else {
      endpoint = nil
    }
    switch (try value("AWS_ACCESS_KEY_ID"), try value("AWS_SECRET_ACCESS_KEY")) {
    case (let accessKey?, let secretKey?):
      signing = RequestSigning(
        accessKey: accessKey, secretKey: secretKey, sessionToken: try value("AWS_SESSION_TOKEN"), region: region)
    case (nil, nil): signing = nil
    case (nil, _): throw DescribedError("AWS_SECRET_ACCESS_KEY is set, and AWS_ACCESS_KEY_ID is not")
    case (_, nil): throw DescribedError("AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not")
    }
  }

  /// The URL of a location's objects; it ends with a slash.
  ///
  /// - Throws: ``DescribedError`` if the location makes no URL.
  package func folder(of location: S3Location) throws -> PageURL {
    let text: String
    if let endpoint {
      text = endpoint.text + (endpoint.text.hasSuffix("/") ? "" : "/") + location.bucket + "/"
    } else if location.bucket.contains(".") {
      // The certificate of Amazon S3 is for names of one label.
      text = "https://s3.\(region).amazonaws.com/\(location.bucket)/"
    } else {
      text = "https://\(location.bucket).s3.\(region).amazonaws.com/"
    }
    guard let url = PageURL(text + location.prefix.escapedForKey) else {
      throw DescribedError("\(location) makes no URL")
    }
    return url
  }

  /// A transport that signs the requests which read objects of a location. All others go out as they are.
  ///
  /// It is for the host's own requests: pages and clients choose URLs too, and must not read with the host's key. A
  /// client may choose a bundle's URL, too, so that only the objects of releases are signed for.
  ///
  /// - Parameter isObject: returns `true` for the names of the objects that the host reads.
  /// - Throws: ``DescribedError``.
  package func readingTransport(
    _ transport: any HTTPTransporting, for location: S3Location, where isObject: @escaping @Sendable (String) -> Bool
  ) throws -> any HTTPTransporting {
    guard let signing else { return transport }
    return SigningTransport(
      transport, signing: signing, below: try folder(of: location), only: [.get, .head], where: isObject)
  }
}

extension String {
  /// The text as a part of a URL's path: all but unreserved characters and slashes are escaped, as signatures ask for
  /// it.
  package var escapedForKey: String {
    percentEncoded { $0.isUnreserved || $0 == UInt8(ascii: "/") }
  }
}

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
