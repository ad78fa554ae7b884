import Bundles
import HTTPTransport
import Signing

/// A signed manifest and the files beside it, byte for byte: other bytes than these would not be what was signed.
struct SignedContents: Sendable {
  let manifest: [UInt8]
  /// The bytes of the signature file.
  let signatures: [UInt8]
  let roots: [PublishedRoot]
  /// The status beside it as it is served; `nil` if there is none.
  var status: PublishedStatus?
  /// The status of the folder or of the other server, which this host may sign anew; `nil` if there is none.
  var published: PublishedStatus?
  /// The times of the status, if this host has signed it.
  var ownStatus: OwnStatus?
  /// The path of each entry on this host, unescaped, in the manifest's order; `nil` for an entry on another host. Empty
  /// if all entries are below `/bundles/`.
  var paths: [String?] = []
  /// The time at which this host signs it anew; `nil` if another has signed it.
  var renewed: SignedTime?

  /// Returns `true` if both have the same bytes.
  func isSame(as other: SignedContents?) -> Bool {
    manifest == other?.manifest && signatures == other?.signatures && roots == other?.roots
      && (status?.isSame(as: other?.status) ?? (other?.status == nil))
  }

  /// The status as hosts read it; `nil` if there is none, or it cannot be read.
  var readStatus: ReleaseStatus? { status.flatMap { try? ReleaseStatus(reading: $0.bytes) } }

  /// The files by their paths, without the manifest.
  func files() throws -> [String: ServedContent] {
    var files = ["manifest.json" + SignatureFile.suffix: try ServedContent(json: signatures)]
    if let status {
      files[ReleaseStatus.fileName] = try ServedContent(json: status.bytes)
      if let signatures = status.signatures {
        files[ReleaseStatus.fileName + SignatureFile.suffix] = try ServedContent(json: signatures)
      }
    }
    for root in roots {
      let name = PublishedRoot.name(of: root.version)
      files[name] = try ServedContent(json: root.bytes)
      if let signatures = root.signatures {
        files[name + SignatureFile.suffix] = try ServedContent(json: signatures)
      }
    }
    return files
  }

  /// The ``paths`` of a manifest that another server has signed.
  static func paths(of manifest: Manifest) throws -> [String?] {
    // Any origin does: only references are resolved.
    guard let url = PageURL("http://host.invalid/manifest.json") else { return [] }
    let prefix = url.origin + "/"
    return try manifest.located(at: url).map { entry in
      let text = entry.contentURL.text
      return text.hasPrefix(prefix) ? URLPath.unescaped(text.dropFirst(prefix.count)) : nil
    }
  }
}
