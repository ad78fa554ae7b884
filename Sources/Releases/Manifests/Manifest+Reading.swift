import HTTPTransport

extension Manifest {
  /// The manifest formats that can be read.
  package enum Dialect: String, Sendable {
    /// PageKit's own.
    case pageKit
    /// `{"filesMd5": [{"page", "md5"}], "jsVersion", "jsPath"}`
    case eros
    /// `[{"path", "md5"}]`
    case weexbox

    /// `true` if the manifest's digests of files can be relied on. The tools of Eros and weexbox are made for scripts;
    /// their digests of pictures and fonts may be wrong, for example because Eros reads files as text.
    package var hasReliableFileDigests: Bool { self == .pageKit }

    /// The file beside the manifest that contains the release's name; `nil` if the manifest itself contains it.
    package var nameFile: String? { self == .weexbox ? "update-config.json" : nil }
  }

  /// The name of a release whose manifest does not give one.
  package static let unnamed = "unnamed"

  /// Takes the release's name from the dialect's name file.
  ///
  /// - Returns: `true` if the file contains a valid name.
  package mutating func setName(from nameFile: [UInt8]) -> Bool {
    guard case .object(let members)? = try? JSONValue(reading: nameFile),
      case .string(let found)? = members["release"], Self.isUsableName(found)
    else { return false }
    release = found
    return true
  }

  /// Reads and validates a whole manifest; recognises the dialect by the JSON's members.
  ///
  /// - Throws: ``ManifestError``, which lists every invalid entry.
  package init(reading bytes: [UInt8], limits: ManifestLimits = .standard) throws {
    // Some editors write a byte order mark, which is not part of JSON.
    let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    guard Int64(bytes.count) <= limits.manifestBytes else {
      throw ManifestError.tooLarge(size: Int64(bytes.count), limit: limits.manifestBytes)
    }
    // The decoder would guess other encodings and replace invalid bytes.
    let isASCII = bytes.withUnsafeBufferPointer { $0.reduce(0, |) } < 0x80
    guard isASCII || String(validating: bytes, as: UTF8.self) != nil else { throw ManifestError.notUTF8 }
    if let reason = ManifestError.notJSONReason(bytes) { throw ManifestError.notJSON(reason: reason) }
    if let manifest = Self(plainly: bytes, limits: limits.json), manifest.faults(limits: limits).isEmpty {
      self = manifest
      return
    }
    try self.init(decoding: bytes, limits: limits)
  }

  /// Reads and validates a manifest of any format, however it is written.
  init(decoding bytes: [UInt8], limits: ManifestLimits) throws {
    let draft: ManifestDraft
    do {
      draft = try JSONValue(reading: bytes, limits: limits.json).decoded()
    } catch let error as JSONError {
      throw ManifestError.notJSON(reason: error.description)
    }
    let manifest = draft.manifest
    let faults = draft.faults + manifest.faults(limits: limits)
    guard faults.isEmpty else { throw ManifestError.invalid(faults) }
    self = manifest
  }

  /// Reads a manifest that is written plainly, whose faults are not looked for.
  ///
  /// - Returns: `nil` for any other, and if a part of it cannot be read.
  init?(plainly bytes: [UInt8], limits: JSONLimits) {
    guard let parts = PlainManifestReader.parts(of: bytes, limits: limits) else { return nil }
    let limits = JSONLimits(depth: limits.depth, values: limits.values - parts.values)
    guard let draft = try? JSONValue(reading: parts.rest, limits: limits).decoded(as: ManifestDraft.self),
      draft.faults.isEmpty
    else { return nil }
    self = draft.manifest
    (bundles, files) = (parts.bundles, parts.files)
  }
}

/// A manifest as it was read, with the faults found while reading.
private struct ManifestDraft: Decodable {
  var manifest = Manifest(release: "", bundles: [])
  var faults: [ManifestFault] = []

  init(from decoder: any Decoder) throws {
    if let list = try? decoder.singleValueContainer().decode([Tolerant<ForeignEntry>].self) {
      readWeexbox(list)
      return
    }
    guard let container = try? decoder.container(keyedBy: AnyKey.self) else { throw ManifestError.unrecognised }
    if container.contains("filesMd5") {
      try readEros(container)
    } else if container.contains("bundles") {
      try readPageKit(container)
    } else {
      throw ManifestError.unrecognised
    }
  }

  // MARK: PageKit

  private mutating func readPageKit(_ container: KeyedDecodingContainer<AnyKey>) throws {
    let schema = field("schema", in: container, as: Int64.self)
    if let schema, schema != Manifest.supportedSchema {
      throw ManifestError.unsupportedSchema(found: schema, supported: Manifest.supportedSchema)
    }
    manifest.release = field("release", in: container, as: String.self) ?? ""
    manifest.sequence = optionalField("sequence", in: container, as: Int64.self) ?? 0
    manifest.base = optionalField("base", in: container, as: String.self) ?? ""
    manifest.blobs = optionalField("blobs", in: container, as: String.self)
    manifest.bundles = entries("bundles", in: container)
    if container.contains("files") { manifest.files = entries("files", in: container) }
    manifest.identity = optionalField("identity", in: container, as: PageIdentity.self)
    manifest.rollout = optionalField("rollout", in: container, as: Rollout.self)
    manifest.otherwise = optionalField("otherwise", in: container, as: ManifestReference.self)
    manifest.channels =
      optionalField("channels", in: container, as: [String: ManifestReference].self) ?? [:]
    manifest.minimumRuntime = optionalField("minimumRuntime", in: container, as: String.self)
    manifest.additional = try container.decodeAdditional(except: Manifest.members)
  }

  private mutating func field<Value: Decodable>(
    _ key: AnyKey, in container: KeyedDecodingContainer<AnyKey>, as type: Value.Type
  ) -> Value? {
    do {
      return try container.decode(type, forKey: key)
    } catch {
      faults.append(ManifestFault(subject: "the manifest", reason: ManifestFault.reason(error, field: key.stringValue)))
      return nil
    }
  }

  private mutating func optionalField<Value: Decodable>(
    _ key: AnyKey, in container: KeyedDecodingContainer<AnyKey>, as type: Value.Type
  ) -> Value? {
    container.contains(key) ? field(key, in: container, as: type) : nil
  }

  private mutating func entries(_ key: AnyKey, in container: KeyedDecodingContainer<AnyKey>) -> [Manifest.Entry] {
    guard let list = field(key, in: container, as: [Tolerant<Manifest.Entry>].self) else { return [] }
    return unwrap(list, listName: key.stringValue) { $0 }
  }

  private mutating func unwrap<Raw>(
    _ list: [Tolerant<Raw>], listName: String, _ entry: (Raw) -> Manifest.Entry
  ) -> [Manifest.Entry] {
    var entries: [Manifest.Entry] = []
    entries.reserveCapacity(list.count)
    for (index, element) in list.enumerated() {
      switch element.result {
      case .success(let raw): entries.append(entry(raw))
      case .failure(let error):
        let subject = element.name.map { "\(listName)[\(index)] (\($0.quotedForMessage))" } ?? "\(listName)[\(index)]"
        faults.append(ManifestFault(subject: subject, reason: ManifestFault.reason(error)))
      }
    }
    return entries
  }

  // MARK: Eros

  /// An entry of another dialect. Eros calls its path `page`.
  private struct ForeignEntry: Decodable {
    let path: String
    let md5: MD5Digest

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: AnyKey.self)
      let isOfEros = decoder.codingPath.first?.stringValue == "filesMd5"
      path = try container.decode(String.self, forKey: isOfEros ? "page" : "path")
      md5 = try container.decode(MD5Digest.self, forKey: "md5")
    }
  }

  private mutating func readEros(_ container: KeyedDecodingContainer<AnyKey>) throws {
    manifest.dialect = .eros
    // `jsPath` names an archive of all pages; the pages themselves lie beside the manifest.
    manifest.release = optionalField("jsVersion", in: container, as: String.self) ?? Manifest.unnamed
    if let list = field("filesMd5", in: container, as: [Tolerant<ForeignEntry>].self) {
      manifest.bundles = unwrap(list, listName: "filesMd5") { Self.entry(path: $0.path, md5: $0.md5) }
    }
    splitFiles()
    manifest.additional = try container.decodeAdditional(except: ["filesMd5", "jsVersion"])
  }

  // MARK: weexbox

  private mutating func readWeexbox(_ list: [Tolerant<ForeignEntry>]) {
    manifest.dialect = .weexbox
    manifest.release = Manifest.unnamed
    manifest.bundles = unwrap(list, listName: "entry") { Self.entry(path: $0.path, md5: $0.md5) }
    if list.isEmpty { faults.append(ManifestFault(subject: "the manifest", reason: "it lists nothing")) }
    splitFiles()
  }

  /// Makes an entry; other tools write paths with a leading slash, PageKit's paths are relative.
  private static func entry(path: String, md5: MD5Digest) -> Manifest.Entry {
    let relative = path.hasPrefix("/") ? String(path.dropFirst()) : path
    return Manifest.Entry(name: Manifest.Entry.name(forPath: relative), path: relative, md5: md5)
  }

  /// Separates scripts and other files, which these dialects list together.
  private mutating func splitFiles() {
    manifest.files = manifest.bundles.filter { !$0.path.hasSuffix(".js") }
    manifest.bundles.removeAll { !$0.path.hasSuffix(".js") }
  }
}

extension Manifest.Entry {
  /// The name of a bundle whose manifest gives only its path: the path without `.js`.
  package static func name(forPath path: String) -> String {
    path.hasSuffix(".js") ? String(path.dropLast(3)) : path
  }
}

/// An element of a list; a faulty element does not make the others unreadable.
private struct Tolerant<Value: Decodable>: Decodable {
  let result: Result<Value, any Error>
  /// The name or path in a faulty element.
  let name: String?

  init(from decoder: any Decoder) throws {
    do {
      result = .success(try Value(from: decoder))
      name = nil
    } catch {
      result = .failure(error)
      let container = try? decoder.container(keyedBy: AnyKey.self)
      name = ["name", "path", "page"].lazy.compactMap { try? container?.decode(String.self, forKey: AnyKey($0)) }.first
    }
  }
}

extension Manifest: Encodable {
  /// The members that this version knows.
  fileprivate static let members: Set<String> = [
    "schema", "release", "sequence", "base", "blobs", "bundles", "files", "identity", "rollout", "otherwise",
    "channels",
    "minimumRuntime",
  ]

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: AnyKey.self)
    try container.encode(Self.supportedSchema, forKey: "schema")
    try container.encode(release, forKey: "release")
    try container.encode(sequence, forKey: "sequence")
    try container.encode(base, forKey: "base")
    try container.encodeIfPresent(blobs, forKey: "blobs")
    try container.encode(bundles, forKey: "bundles")
    if !files.isEmpty {
      var list = container.nestedUnkeyedContainer(forKey: "files")
      for file in files { try file.encodeFields(to: list.superEncoder(), asFile: true) }
    }
    try container.encodeIfPresent(identity, forKey: "identity")
    try container.encodeIfPresent(rollout, forKey: "rollout")
    try container.encodeIfPresent(otherwise, forKey: "otherwise")
    if !channels.isEmpty { try container.encode(channels, forKey: "channels") }
    try container.encodeIfPresent(minimumRuntime, forKey: "minimumRuntime")
    for (key, value) in additional { try container.encode(value, forKey: AnyKey(key)) }
  }
}

extension Manifest.Entry: Codable {
  /// The members that this version knows.
  private static let members: Set<String> = [
    "name", "path", "size", "md5", "sha256", "blob", "preload", "prefetch", "deltas",
  ]

  /// Reads a bundle or a file; an entry without a name is called by its path.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: AnyKey.self)
    path = try container.decode(String.self, forKey: "path")
    name = try container.decodeIfPresent(String.self, forKey: "name") ?? path
    size = try container.decodeIfPresent(Int64.self, forKey: "size")
    md5 = try container.decode(MD5Digest.self, forKey: "md5")
    sha256 = try container.decodeIfPresent(SHA256Digest.self, forKey: "sha256")
    blob = try container.decodeIfPresent(String.self, forKey: "blob")
    let time = try container.decodeIfPresent(String.self, forKey: "preload") ?? Manifest.Preload.launch.rawValue
    guard let preload = Manifest.Preload(rawValue: time) else {
      throw DecodingError.dataCorruptedError(
        forKey: "preload", in: container,
        debugDescription: "\(time.quotedForMessage) is none of \"launch\", \"idle\" and \"demand\"")
    }
    self.preload = preload
    prefetch = try container.decodeIfPresent([String].self, forKey: "prefetch") ?? []
    for (hex, size) in try container.decodeIfPresent([String: Int64].self, forKey: "deltas") ?? [:] {
      guard let digest = SHA256Digest(hex: hex) else {
        throw DecodingError.dataCorruptedError(
          forKey: "deltas", in: container, debugDescription: "\(hex.quotedForMessage) is no SHA-256")
      }
      deltas[digest] = size
    }
    additional = try container.decodeAdditional(except: Self.members)
  }

  /// Reads an entry's members as the decoder does.
  ///
  /// - Returns: `nil` if a value is missing, null or not as it must be.
  init?(plain members: [String: JSONValue]) {
    guard case .string(let path) = members["path"], case .string(let hex) = members["md5"],
      let md5 = MD5Digest(hex: hex)
    else { return nil }
    self.init(name: path, path: path, md5: md5)
    for (key, value) in members {
      switch (key, value) {
      case ("path", _), ("md5", _): break
      case ("name", .string(let text)): name = text
      case ("size", .integer(let number)): size = number
      case ("sha256", .string(let text)):
        guard let digest = SHA256Digest(hex: text) else { return nil }
        sha256 = digest
      case ("blob", .string(let text)): blob = text
      case ("preload", .string(let text)):
        guard let time = Manifest.Preload(rawValue: text) else { return nil }
        preload = time
      case ("prefetch", .array(let references)):
        for reference in references {
          guard case .string(let text) = reference else { return nil }
          prefetch.append(text)
        }
      case ("deltas", .object(let sizes)):
        for (hex, size) in sizes {
          guard let digest = SHA256Digest(hex: hex), case .integer(let size) = size else { return nil }
          deltas[digest] = size
        }
      case ("name", _), ("size", _), ("sha256", _), ("blob", _), ("preload", _), ("prefetch", _), ("deltas", _):
        return nil
      default: additional[key] = value
      }
    }
  }

  package func encode(to encoder: any Encoder) throws {
    try encodeFields(to: encoder, asFile: false)
  }

  fileprivate func encodeFields(to encoder: any Encoder, asFile: Bool) throws {
    var container = encoder.container(keyedBy: AnyKey.self)
    if !asFile || name != path { try container.encode(name, forKey: "name") }
    try container.encode(path, forKey: "path")
    try container.encodeIfPresent(size, forKey: "size")
    try container.encode(md5, forKey: "md5")
    try container.encodeIfPresent(sha256, forKey: "sha256")
    try container.encodeIfPresent(blob, forKey: "blob")
    if preload != .launch { try container.encode(preload, forKey: "preload") }
    if !prefetch.isEmpty { try container.encode(prefetch, forKey: "prefetch") }
    if !deltas.isEmpty {
      let sizes = deltas.map { ($0.key.hex, $0.value) }
      try container.encode(Dictionary(uniqueKeysWithValues: sizes), forKey: "deltas")
    }
    for (key, value) in additional { try container.encode(value, forKey: AnyKey(key)) }
  }
}

extension KeyedDecodingContainer where Key == AnyKey {
  func decodeAdditional(except known: Set<String>) throws -> [String: JSONValue] {
    var additional: [String: JSONValue] = [:]
    for key in allKeys where !known.contains(key.stringValue) {
      additional[key.stringValue] = try decode(JSONValue.self, forKey: key)
    }
    return additional
  }
}
