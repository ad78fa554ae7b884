import Foundation
import HTTPTransport

/// The reason why a manifest was refused. Nothing of a refused manifest is used.
package enum ManifestError: Error, Hashable, CustomStringConvertible {
  /// The manifest is larger than `limit` bytes.
  case tooLarge(size: Int64, limit: Int64)
  case notUTF8
  case notJSON(reason: String)
  /// The JSON has none of the known formats.
  case unrecognised
  case unsupportedSchema(found: Int64, supported: Int)
  /// The manifest has invalid entries; all of them are listed.
  case invalid([ManifestFault])

  /// The number of faults that a description spells out.
  private static let spelledOut = 10

  package var description: String {
    switch self {
    case .tooLarge(let size, let limit):
      return "the manifest has \(size) bytes, more than the limit of \(limit)"
    case .notUTF8:
      return "the manifest is not valid UTF-8"
    case .notJSON(let reason):
      return "the manifest is not JSON: \(reason)"
    case .unrecognised:
      return
        "the JSON is not a manifest: it has neither \"bundles\" (PageKit) nor \"filesMd5\" (Eros), nor is it a list of path and md5 (weexbox)"
    case .unsupportedSchema(let found, let supported):
      return "the manifest has schema \(found), this version reads schema \(supported): update PageKit"
    case .invalid(let faults):
      let shown = faults.prefix(Self.spelledOut).map(\.description).joined(separator: "; ")
      let rest = faults.count - Self.spelledOut
      return rest > 0 ? "\(shown); and \(rest) more" : shown
    }
  }

  /// Describes text that is obviously not a JSON object or array; `nil` if it may be one.
  static func notJSONReason(_ bytes: [UInt8]) -> String? {
    guard let first = bytes.first(where: { ![9, 10, 13, 32].contains($0) }) else { return "it is empty" }
    switch first {
    case UInt8(ascii: "{"), UInt8(ascii: "["): return nil
    case UInt8(ascii: "<"): return "it looks like HTML"
    default: return "it begins with \"\(String(decoding: bytes.prefix(20), as: UTF8.self).quotableStart)\""
    }
  }
}

/// A fault of one entry of a manifest.
package struct ManifestFault: Hashable, Sendable, CustomStringConvertible {
  /// The entry's kind and name, or `the manifest`.
  package let subject: String
  package let reason: String

  package init(subject: String, reason: String) {
    self.subject = subject
    self.reason = reason
  }

  package var description: String { "\(subject): \(reason)" }

  /// A decoder's error in words for the manifest's author.
  static func reason(_ error: any Error, field: String? = nil) -> String {
    guard let error = error as? DecodingError else { return error.sentence }
    return error.reason(field: field)
  }
}

extension DecodingError {
  fileprivate func reason(field: String?) -> String {
    func name(_ context: Context) -> String {
      let key = context.codingPath.last { $0.intValue == nil && !["bundles", "files"].contains($0.stringValue) }
      return (field ?? key?.stringValue).map { "\"\($0)\"" } ?? "it"
    }
    switch self {
    case .keyNotFound(let key, _):
      return "\"\(key.stringValue)\" is missing"
    case .typeMismatch(let type, let context):
      return "\(name(context)) must be \(Self.noun(for: type))"
    case .valueNotFound(let type, let context):
      return "\(name(context)) is null where \(Self.noun(for: type)) is expected"
    case .dataCorrupted(let context):
      if context.debugDescription.hasPrefix("Number") {
        return "\(name(context)) must be a whole number that fits into 64 bits"
      }
      return "\(name(context)) cannot be used: \(context.debugDescription)"
    @unknown default:
      return "it cannot be read"
    }
  }

  private static func noun(for type: any Any.Type) -> String {
    switch type {
    case is String.Type: return "a text"
    case is Int64.Type: return "a whole number"
    default:
      let name = "\(type)"
      return name.hasPrefix("Array") ? "a list" : name.hasPrefix("Dictionary") ? "an object" : "of another kind"
    }
  }
}
