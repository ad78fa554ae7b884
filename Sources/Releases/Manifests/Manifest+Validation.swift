import Foundation
import HTTPTransport

extension Manifest {
  /// All faults of the manifest, in its order; empty if the manifest is valid.
  func faults(limits: ManifestLimits) -> [ManifestFault] {
    var faults: [ManifestFault] = []
    func fault(_ subject: String, _ reason: String) { faults.append(ManifestFault(subject: subject, reason: reason)) }

    if !Self.isUsableName(release) {
      fault("the manifest", "\"release\" must be a text of 1 to 200 bytes without control characters")
    }
    if sequence < 0 { fault("the manifest", "\"sequence\" is \(sequence), it must not be negative") }
    if sequence > Int64.sequenceLimit {
      fault("the manifest", "\"sequence\" is \(sequence), the largest one is \(Int64.sequenceLimit)")
    }
    for (member, folder) in [("base", base), ("blobs", blobs ?? "")] where !Self.isFolder(folder) {
      fault("the manifest", "\"\(member)\" is \(folder.quotedForMessage), which is no http, https or relative URL")
    }
    for reason in audienceFaults { fault("the manifest", reason) }
    let count = bundles.count + files.count
    if count > limits.entries {
      fault("the manifest", "it lists \(count) bundles and files, more than the limit of \(limits.entries)")
      return faults
    }

    var names = Set<String>(minimumCapacity: bundles.count)
    var paths = Set<String>(minimumCapacity: count)
    var total: Int64 = 0
    for (entries, kind) in [(bundles, "bundle"), (files, "file")] {
      for entry in entries {
        var subject: String { "\(kind) \(entry.name.quotedForMessage)" }
        if entry.name.isEmpty || entry.name.utf8.count > 1024 || entry.name.hasControlCharacters {
          fault(subject, "its name must be 1 to 1024 bytes without control characters")
        }
        if let reason = Self.pathFault(entry.path) {
          fault(subject, "its path \(entry.path.quotedForMessage) \(reason)")
        }
        if kind == "bundle", !names.insert(entry.name).inserted { fault(subject, "its name is listed twice") }
        if !paths.insert(entry.path).inserted {
          fault(subject, "its path \(entry.path.quotedForMessage) is listed twice")
        }
        if let reason = Self.deltaFault(entry) { fault(subject, reason) }
        if let reason = blobFault(entry) { fault(subject, reason) }
        guard let size = entry.size else { continue }
        if size < 0 {
          fault(subject, "its size is \(size), it must not be negative")
        } else if size == 0, kind == "bundle" {
          fault(subject, "its size is 0, an empty script is no page")
        } else if size > limits.fileBytes {
          fault(subject, "its size is \(size) bytes, more than the limit of \(limits.fileBytes)")
        } else {
          let (sum, overflows) = total.addingReportingOverflow(size)
          total = overflows ? .max : sum
        }
      }
    }
    if total > limits.releaseBytes {
      fault("the manifest", "its bundles and files have \(total) bytes, more than the limit of \(limits.releaseBytes)")
    }
    return faults
  }

  /// The faults of the members that say who gets the release.
  private var audienceFaults: [String] {
    var faults: [String] = []
    if let rollout {
      if !(0...100).contains(rollout.percent) { faults.append("its rollout must have a \"percent\" from 0 to 100") }
      if rollout.salt.utf8.count > 200 { faults.append("the \"salt\" of its rollout is longer than 200 bytes") }
      if otherwise == nil, rollout.percent < 100 {
        faults.append("it has a \"rollout\", and no \"otherwise\" for the installs that are not in it")
      }
    }
    if let minimumRuntime, minimumRuntime.versionNumbers == nil {
      faults.append("\"minimumRuntime\" is \(minimumRuntime.quotedForMessage), it must be numbers with dots, as 1.4.0")
    }
    if channels.count > 100 { faults.append("it has \(channels.count) channels, more than 100") }
    for name in channels.keys.sorted() where !Self.isUsableName(name) {
      faults.append(
        "the name of the channel \(name.quotedForMessage) must be 1 to 200 bytes without control characters")
    }
    for reference in [otherwise].compactMap(\.self) + channels.values where !reference.isUsable {
      faults.append("\(reference.url.quotedForMessage) is no http, https or relative URL of another manifest")
    }
    return faults
  }

  static func isUsableName(_ release: String) -> Bool {
    !release.isEmpty && release.utf8.count <= 200 && !release.hasControlCharacters
  }

  /// Returns `true` for the reference to a folder, and for an empty one.
  private static func isFolder(_ reference: String) -> Bool {
    reference.isEmpty
      || !reference.utf8.contains { $0 <= 32 || $0 == 127 } && PageURL("http://host/")?.resolving(reference) != nil
  }

  /// The reason why the place of an entry's content is refused.
  private func blobFault(_ entry: Entry) -> String? {
    guard blobs != nil else { return entry.blob == nil ? nil : "it has a \"blob\", and the manifest no \"blobs\"" }
    if entry.sha256 == nil { return "it has no \"sha256\", by which its content is found in \"blobs\"" }
    guard let name = entry.blob else { return nil }
    let isName = name.utf8.allSatisfy { (48...57).contains($0) || (97...122).contains($0) || $0 == UInt8(ascii: "-") }
    return isName && (1...100).contains(name.utf8.count)
      ? nil : "its blob \(name.quotedForMessage) must be 1 to 100 small letters, digits and hyphens"
  }

  /// The reason why an entry's deltas are refused.
  private static func deltaFault(_ entry: Manifest.Entry) -> String? {
    if entry.deltas.isEmpty { return nil }
    if entry.sha256 == nil { return "it has deltas and no \"sha256\", so that their results could not be checked" }
    if entry.deltas.count > deltaLimit { return "it has \(entry.deltas.count) deltas, more than \(deltaLimit)" }
    return entry.deltas.values.contains { $0 <= 0 } ? "the size of a delta must be positive" : nil
  }

  /// The largest number of deltas of an entry.
  private static let deltaLimit = 16

  /// The reason why a path is refused; `nil` if every server and file system reads it as a place below its base.
  private static func pathFault(_ path: String) -> String? {
    if isPlain(path) { return nil }
    if path.isEmpty { return "is empty" }
    if path.utf8.count > 4096 { return "is longer than 4096 bytes" }
    if path.hasControlCharacters { return "has control characters" }
    // By bytes, since a manifest has tens of thousands of paths.
    let bytes = Array(path.utf8)
    if bytes[0] == UInt8(ascii: "/") { return "is absolute, it must be relative to \"base\"" }
    if bytes.contains(UInt8(ascii: "\\")) { return "has a backslash" }
    let segments = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for segment in segments {
      if segment.isEmpty { return "has an empty segment" }
      if isDots(segment) {
        return "has a segment \"\(String(decoding: segment, as: UTF8.self))\", it must stay below \"base\""
      }
      if segment.count > 255 { return "has a segment longer than 255 bytes" }
    }
    if segments[0].contains(UInt8(ascii: ":")) { return "begins with a scheme, it must be relative to \"base\"" }
    guard bytes.contains(UInt8(ascii: "%")) else { return nil }
    let lowercased = path.lowercased()
    return lowercased.contains("%2f") || lowercased.contains("%5c") ? "has an escaped separator" : nil
  }

  /// Returns `true` for a path of at most 255 letters, digits, dots, hyphens, low lines and slashes, none of whose segments is
  /// empty or begins with a dot: that is most of them, and a manifest has tens of thousands.
  private static func isPlain(_ path: String) -> Bool {
    var former = UInt8(ascii: "/")
    for byte in path.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        break
      case UInt8(ascii: "."), UInt8(ascii: "/"):
        if former == UInt8(ascii: "/") { return false }
      default: return false
      }
      former = byte
    }
    return former != UInt8(ascii: "/") && path.utf8.count <= 255
  }

  /// Returns `true` for `.` and `..`, also with escaped dots.
  private static func isDots(_ segment: ArraySlice<UInt8>) -> Bool {
    guard let first = segment.first, first == UInt8(ascii: ".") || first == UInt8(ascii: "%") else { return false }
    let text = String(decoding: segment, as: UTF8.self).lowercased().replacing("%2e", with: ".")
    return text == "." || text == ".."
  }
}

extension ManifestReference {
  /// `true` if its URL is one, relative or absolute.
  var isUsable: Bool {
    !url.isEmpty && url.utf8.count <= 4096 && !url.hasControlCharacters
      && PageURL("http://host/")?.resolving(url) != nil
  }
}

extension String {
  fileprivate var hasControlCharacters: Bool { utf8.contains { $0 < 32 || $0 == 127 } }
}

/// The reason why a manifest was refused. Nothing of a refused manifest is used.
public enum ManifestError: Error, Hashable, CustomStringConvertible {
  /// The manifest is larger than `limit` bytes.
  case tooLarge(size: Int64, limit: Int64)
  /// The bytes are not UTF-8.
  case notUTF8
  /// The text is not JSON.
  case notJSON(reason: String)
  /// The JSON has none of the known formats.
  case unrecognised
  /// The manifest is of a newer schema.
  case unsupportedSchema(found: Int64, supported: Int)
  /// The manifest has invalid entries; all of them are listed.
  case invalid([ManifestFault])

  /// The number of faults that a description spells out.
  private static let spelledOut = 10

  public var description: String {
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
public struct ManifestFault: Hashable, Sendable, CustomStringConvertible {
  /// The entry's kind and name, or `the manifest`.
  public let subject: String
  /// The fault, in a clause.
  public let reason: String

  package init(subject: String, reason: String) {
    self.subject = subject
    self.reason = reason
  }

  public var description: String { "\(subject): \(reason)" }

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
