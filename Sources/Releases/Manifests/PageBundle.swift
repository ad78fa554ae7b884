import HTTPTransport

/// A bundle or file of a release, with its URL: the unit that is fetched, stored and opened.
package struct PageBundle: Hashable, Sendable {
  /// The kind of an entry.
  package enum Kind: String, Hashable, Sendable, Codable {
    /// The script of a page.
    case bundle
    /// A picture, font or data that belongs to the release.
    case file
  }

  /// The kind: a page's script or another file.
  package let kind: Kind
  /// Its name in the manifest.
  package let name: String
  /// The URL that it is opened by.
  package let url: PageURL
  /// The URL that its content is fetched from, if that is another one.
  package let location: PageURL?
  /// The size in bytes; `nil` if the manifest does not give it.
  package let size: Int64?
  /// The MD5 that the manifest gives.
  package let md5: MD5Digest
  /// The SHA-256, if the manifest gives one.
  package let sha256: SHA256Digest?
  /// The time at which it is preloaded.
  package let preload: Manifest.Preload
  /// The URLs of responses that are fetched together with it.
  package let prefetch: [String]
  /// `true` if the release is complete without it, should the server's bytes differ from the manifest's digest. Files
  /// of Eros and weexbox manifests are optional, since their tools may write wrong digests.
  package let isOptional: Bool

  package init(
    kind: Kind, name: String, url: PageURL, location: PageURL? = nil, size: Int64?, md5: MD5Digest,
    sha256: SHA256Digest? = nil,
    preload: Manifest.Preload = .launch, prefetch: [String] = [], isOptional: Bool = false
  ) {
    self.kind = kind
    self.name = name
    self.url = url
    self.location = location
    self.size = size
    self.md5 = md5
    self.sha256 = sha256
    self.preload = preload
    self.prefetch = prefetch
    self.isOptional = isOptional
  }

  /// The URL that its content is fetched from.
  package var contentURL: PageURL { location ?? url }

  /// The digests and size that its bytes must have.
  package var expected: ExpectedContent { ExpectedContent(md5: md5, sha256: sha256, size: size) }
}

/// The identity of an entry across the releases of a source.
package struct EntryName: Hashable, Sendable {
  package let kind: PageBundle.Kind
  package let name: String

  package init(kind: PageBundle.Kind, name: String) { (self.kind, self.name) = (kind, name) }

  package init(_ bundle: PageBundle) { self.init(kind: bundle.kind, name: bundle.name) }
}

extension Manifest {
  /// The release's bundles and then its files, located against the manifest's own URL.
  ///
  /// - Throws: ``ManifestError`` if `base` or `blobs` is not an `http`, `https` or `file` URL, or if a manifest from the
  ///   network names files of this machine.
  package func located(at manifestURL: PageURL) throws -> [PageBundle] {
    let prefix = try prefix(of: base, named: "base", at: manifestURL)
    let blobs = try blobs.map { try self.prefix(of: $0, named: "blobs", at: manifestURL) }
    var located: [PageBundle] = []
    located.reserveCapacity(bundles.count + files.count)
    for (entries, kind) in [(bundles, PageBundle.Kind.bundle), (files, .file)] {
      for entry in entries {
        // The path is a name below the base, not a reference: characters of URL syntax in it are escaped.
        guard let url = PageURL(entry.path, below: prefix) else {
          throw ManifestError.invalid([
            ManifestFault(
              subject: "\(kind.rawValue) \(entry.name.quotedForMessage)",
              reason: "its path \(entry.path.quotedForMessage) makes no URL")
          ])
        }
        located.append(
          PageBundle(
            kind: kind, name: entry.name, url: url, location: blobs.flatMap { entry.location(below: $0) },
            size: entry.size, md5: entry.md5, sha256: entry.sha256,
            preload: entry.preload, prefetch: entry.prefetch,
            isOptional: kind == .file && !dialect.hasReliableFileDigests))
      }
    }
    return located
  }

  /// The start of the URLs of the files in a folder.
  private func prefix(of reference: String, named member: String, at manifestURL: PageURL) throws -> String {
    let folder = reference.isEmpty || reference.hasSuffix("/") ? reference : reference + "/"
    guard let url = manifestURL.resolving(folder.isEmpty ? "." : folder), manifestURL.mayName(url) else {
      throw ManifestError.invalid([
        ManifestFault(
          subject: "the manifest",
          reason: "\"\(member)\" is \(reference.quotedForMessage), which is no http, https or relative URL")
      ])
    }
    return url.prefix
  }

  /// The published deltas, by the SHA-256 of the content that each makes.
  ///
  /// - Throws: ``ManifestError``, as ``located(at:)``.
  package func deltas(at manifestURL: PageURL) throws -> [SHA256Digest: [ListedDelta]] {
    let prefix =
      try blobs.map { try self.prefix(of: $0, named: "blobs", at: manifestURL) }
      ?? prefix(of: base, named: "base", at: manifestURL)
    var deltas: [SHA256Digest: [ListedDelta]] = [:]
    for entry in bundles + files where !entry.deltas.isEmpty {
      guard let target = entry.sha256 else { continue }
      // Several entries may have the same content, each with former ones of its own.
      deltas[target, default: []] += entry.deltas.compactMap { base, size in
        PageURL(Self.deltaPath(to: target, from: base), below: prefix).map {
          ListedDelta(base: base, url: $0, size: size)
        }
      }
    }
    return deltas
  }

  /// The path of a published delta below the manifest's ``blobs``, or below its ``base`` if it has none.
  package static func deltaPath(to target: SHA256Digest, from base: SHA256Digest) -> String {
    "\(deltaFolder)/\(target.hex).\(base.hex).\(DictionaryZstd.token)"
  }

  /// Returns the digests in the name of a delta; `nil` for another name.
  package static func delta(named name: some StringProtocol) -> (target: SHA256Digest, base: SHA256Digest)? {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[2] == DictionaryZstd.token, let target = SHA256Digest(hex: parts[0]),
      let base = SHA256Digest(hex: parts[1])
    else { return nil }
    return (target, base)
  }

  /// The folder of published deltas below the manifest's ``blobs``, or below its ``base`` if it has none.
  package static let deltaFolder = "deltas"
}

extension Manifest.Entry {
  /// The URL of the content in the folder of contents.
  fileprivate func location(below blobs: String) -> PageURL? {
    (blob ?? sha256?.hex).flatMap { PageURL($0, below: blobs) }
  }
}

/// A published file that turns an older content into an entry's.
package struct ListedDelta: Hashable, Sendable {
  /// The SHA-256 of the older content.
  package let base: SHA256Digest
  package let url: PageURL
  /// Its size in bytes.
  package let size: Int64
}

extension PageURL {
  /// The URL up to its last slash, without a query.
  fileprivate var prefix: String {
    let path = text.prefix { $0 != "?" }
    return String(path[...(path.lastIndex(of: "/") ?? path.index(before: path.endIndex))])
  }

  /// Makes the URL of a path below a normalised prefix, which ends with a slash.
  fileprivate init?(_ path: String, below prefix: String) {
    if path.isNormalisedPath {
      self.init(normalised: prefix + path)
    } else {
      // Existing escapes stay.
      self.init(prefix + path.percentEncoded(keepingEscapes: true) { $0.isPathCharacter })
    }
  }
}

extension String {
  /// `true` for a path that is normalised as it is: it has neither escapes nor segments that begin with a dot.
  fileprivate var isNormalisedPath: Bool {
    var former = UInt8(ascii: "/")
    for byte in utf8 {
      guard byte.isPathCharacter, former != UInt8(ascii: "/") || byte != former && byte != UInt8(ascii: ".") else {
        return false
      }
      former = byte
    }
    return !isEmpty
  }
}
