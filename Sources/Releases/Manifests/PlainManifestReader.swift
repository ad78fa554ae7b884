import HTTPTransport

/// Reads a manifest of PageKit's own format whose entries are written as most tools write them, in a tenth of the time
/// that reading any JSON takes.
///
/// The lists of entries are read byte by byte, and the rest of the manifest as any other JSON. A manifest that is not
/// plain JSON, or has a fault, is left to the reader of all manifests, which names the faults: both read the same bytes as
/// the same manifest.
struct PlainManifestReader {
  /// A manifest without its entries, as JSON, its entries, and at least the number of JSON values in them.
  typealias Parts = (rest: [UInt8], bundles: [Manifest.Entry], files: [Manifest.Entry], values: Int)

  private var parts: Parts = ([], [], [], 0)
  private let bytes: UnsafeBufferPointer<UInt8>
  private let limits: JSONLimits
  private var position = 0

  private init(_ bytes: UnsafeBufferPointer<UInt8>, _ limits: JSONLimits) {
    (self.bytes, self.limits) = (bytes, limits)
  }

  /// Takes a manifest apart.
  ///
  /// - Parameters:
  ///   - bytes: the manifest, in UTF-8.
  ///   - limits: those of the manifest's JSON.
  /// - Returns: `nil` for a manifest that is left to the reader of all manifests.
  static func parts(of bytes: [UInt8], limits: JSONLimits) -> Parts? {
    bytes.withUnsafeBufferPointer { bytes in
      var reader = PlainManifestReader(bytes, limits)
      return reader.readMembers() ? reader.parts : nil
    }
  }

  // MARK: The manifest

  private mutating func readMembers() -> Bool {
    var lists: Set<String> = []
    var copied = 0
    skipSpaces()
    guard take(UInt8(ascii: "{")) else { return false }
    repeat {
      skipSpaces()
      guard let name = text() else { return false }
      skipSpaces()
      guard take(UInt8(ascii: ":")) else { return false }
      skipSpaces()
      switch String(decoding: name, as: UTF8.self) {
      // Another format.
      case "filesMd5": return false
      case let list where list == "bundles" || list == "files":
        // Of members with the same name the first counts.
        guard lists.insert(list).inserted, take(UInt8(ascii: "[")) else { return false }
        parts.rest += bytes[copied..<position]
        guard let entries = entries() else { return false }
        copied = position - 1
        if list == "bundles" { parts.bundles = entries } else { parts.files = entries }
      default:
        guard skipValue() else { return false }
      }
      skipSpaces()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { return false }
    skipSpaces()
    parts.rest += bytes[copied...]
    return position == bytes.count && lists.contains("bundles")
  }

  /// Reads a list behind its bracket, to its end.
  private mutating func entries() -> [Manifest.Entry]? {
    var entries: [Manifest.Entry] = []
    skipSpaces()
    if take(UInt8(ascii: "]")) { return entries }
    repeat {
      skipSpaces()
      guard let entry = entry(), parts.values <= limits.values else { return nil }
      entries.append(entry)
      skipSpaces()
    } while take(UInt8(ascii: ","))
    return take(UInt8(ascii: "]")) ? entries : nil
  }

  // MARK: Entries

  private mutating func entry() -> Manifest.Entry? {
    let start = position
    if let entry = plainEntry() { return entry }
    position = start
    guard next == UInt8(ascii: "{"), skipValue() else { return nil }
    let text = bytes[start..<position]
    // A value follows a bracket, a comma or a colon.
    parts.values += 1
    for byte in text where [UInt8(ascii: "["), UInt8(ascii: ","), UInt8(ascii: ":")].contains(byte) {
      parts.values += 1
    }
    // The manifest and its list are two levels.
    let limits = JSONLimits(depth: limits.depth - 2, values: limits.values)
    guard case .object(let members)? = try? JSONValue(reading: Array(text), limits: limits) else { return nil }
    return Manifest.Entry(plain: members)
  }

  /// Reads an entry whose members are texts without escapes, and a size.
  private mutating func plainEntry() -> Manifest.Entry? {
    var (name, path, blob): (String?, String?, String?)
    var size: Int64?
    var (md5, sha256): (MD5Digest?, SHA256Digest?)
    var preload: Manifest.Preload?
    guard take(UInt8(ascii: "{")) else { return nil }
    parts.values += 1
    repeat {
      skipSpaces()
      guard let text = text() else { return nil }
      skipSpaces()
      guard take(UInt8(ascii: ":")) else { return nil }
      skipSpaces()
      parts.values += 1
      let member = String(decoding: text, as: UTF8.self)
      if member == "size" {
        guard size == nil, let number = number() else { return nil }
        size = number
        skipSpaces()
        continue
      }
      guard let value = self.text() else { return nil }
      // Of members with the same name the first counts.
      switch member {
      case "name" where name == nil: name = String(decoding: value, as: UTF8.self)
      case "path" where path == nil: path = String(decoding: value, as: UTF8.self)
      case "md5" where md5 == nil:
        guard let digest = MD5Digest(hexDigits: value) else { return nil }
        md5 = digest
      case "sha256" where sha256 == nil:
        guard let digest = SHA256Digest(hexDigits: value) else { return nil }
        sha256 = digest
      case "blob" where blob == nil: blob = String(decoding: value, as: UTF8.self)
      case "preload" where preload == nil:
        guard let time = Manifest.Preload(rawValue: String(decoding: value, as: UTF8.self)) else { return nil }
        preload = time
      default: return nil
      }
      skipSpaces()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")), let path, let md5 else { return nil }
    var entry = Manifest.Entry(
      name: name ?? path, path: path, size: size, md5: md5, sha256: sha256, preload: preload ?? .launch)
    entry.blob = blob
    return entry
  }

  // MARK: JSON

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    position += 1
    return true
  }

  private mutating func skipSpaces() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }

  /// Reads a string; `nil` if it has escapes or control characters.
  private mutating func text() -> UnsafeBufferPointer<UInt8>? {
    guard take(UInt8(ascii: "\"")) else { return nil }
    let start = position
    while let byte = next, byte >= 0x20, byte != UInt8(ascii: "\\") {
      position += 1
      if byte == UInt8(ascii: "\"") { return UnsafeBufferPointer(rebasing: bytes[start..<position - 1]) }
    }
    return nil
  }

  /// Reads a whole number of at most 18 digits.
  private mutating func number() -> Int64? {
    let start = position
    var number: Int64 = 0
    while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
      guard position - start < 18 else { return nil }
      number = number * 10 + Int64(byte - UInt8(ascii: "0"))
      position += 1
    }
    let count = position - start
    guard count > 0, count == 1 || bytes[start] != UInt8(ascii: "0") else { return nil }
    switch next {
    case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): return nil
    default: return number
    }
  }

  /// Passes a value of JSON; of other bytes, some.
  private mutating func skipValue() -> Bool {
    let start = position
    var depth = 0
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        position += 1
        guard skipString() else { return false }
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        position += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == 0 { return position > start }
        depth -= 1
        position += 1
        if depth == 0 { return true }
      case UInt8(ascii: ",") where depth == 0: return position > start
      default: position += 1
      }
    }
    return false
  }

  /// Passes the rest of a string after its opening quote.
  private mutating func skipString() -> Bool {
    while let byte = next {
      position += 1
      if byte == UInt8(ascii: "\"") { return true }
      if byte == UInt8(ascii: "\\") { position += 1 }
    }
    return false
  }
}
