/// The kind of a signed file. Signatures cover the kind and the bytes, so that a file of one kind is never accepted as
/// another.
package enum SignedKind: String, Hashable, Sendable, CaseIterable {
  case manifest = "application/vnd.pagekit.manifest+json"
  case root = "application/vnd.pagekit.root+json"
  case status = "application/vnd.pagekit.status+json"

  /// The message that a signature of the bytes is made over: the pre-authentication encoding of DSSE 1.0.0, "DSSEv1",
  /// the length and text of the kind, the length and bytes of the content, separated by spaces.
  package func message(_ bytes: [UInt8]) -> [UInt8] {
    Array("DSSEv1 \(rawValue.utf8.count) \(rawValue) \(bytes.count) ".utf8) + bytes
  }

  /// The noun for messages.
  package var noun: String {
    switch self {
    case .manifest: "manifest"
    case .root: "root"
    case .status: "status"
    }
  }
}
