import HTTPTransport

extension Manifest: Encodable {
  enum Key {
    static let schema = AnyKey("schema")
    static let release = AnyKey("release")
    static let sequence = AnyKey("sequence")
    static let base = AnyKey("base")
    static let blobs = AnyKey("blobs")
    static let bundles = AnyKey("bundles")
    static let files = AnyKey("files")
    static let identity = AnyKey("identity")
    static let rollout = AnyKey("rollout")
    static let otherwise = AnyKey("otherwise")
    static let channels = AnyKey("channels")
    static let minimumRuntime = AnyKey("minimumRuntime")
    static let all: Set<String> = [
      "schema", "release", "sequence", "base", "blobs", "bundles", "files", "identity", "rollout", "otherwise",
      "channels",
      "minimumRuntime",
    ]
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: AnyKey.self)
    try container.encode(Self.supportedSchema, forKey: Key.schema)
    try container.encode(release, forKey: Key.release)
    try container.encode(sequence, forKey: Key.sequence)
    try container.encode(base, forKey: Key.base)
    try container.encodeIfPresent(blobs, forKey: Key.blobs)
    try container.encode(bundles, forKey: Key.bundles)
    if !files.isEmpty {
      var list = container.nestedUnkeyedContainer(forKey: Key.files)
      for file in files { try file.encodeFields(to: list.superEncoder(), asFile: true) }
    }
    try container.encodeIfPresent(identity, forKey: Key.identity)
    try container.encodeIfPresent(rollout, forKey: Key.rollout)
    try container.encodeIfPresent(otherwise, forKey: Key.otherwise)
    if !channels.isEmpty { try container.encode(channels, forKey: Key.channels) }
    try container.encodeIfPresent(minimumRuntime, forKey: Key.minimumRuntime)
    for (key, value) in additional { try container.encode(value, forKey: AnyKey(key)) }
  }
}

extension Manifest.Entry: Codable {
  private enum Key {
    static let name = AnyKey("name")
    static let path = AnyKey("path")
    static let size = AnyKey("size")
    static let md5 = AnyKey("md5")
    static let sha256 = AnyKey("sha256")
    static let blob = AnyKey("blob")
    static let preload = AnyKey("preload")
    static let prefetch = AnyKey("prefetch")
    static let deltas = AnyKey("deltas")
    static let all: Set<String> = [
      "name", "path", "size", "md5", "sha256", "blob", "preload", "prefetch", "deltas",
    ]
  }

  /// Reads a bundle or a file; an entry without a name is called by its path.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: AnyKey.self)
    path = try container.decode(String.self, forKey: Key.path)
    name = try container.decodeIfPresent(String.self, forKey: Key.name) ?? path
    size = try container.decodeIfPresent(Int64.self, forKey: Key.size)
    md5 = try container.decode(MD5Digest.self, forKey: Key.md5)
    sha256 = try container.decodeIfPresent(SHA256Digest.self, forKey: Key.sha256)
    blob = try container.decodeIfPresent(String.self, forKey: Key.blob)
    let time = try container.decodeIfPresent(String.self, forKey: Key.preload) ?? Manifest.Preload.launch.rawValue
    guard let preload = Manifest.Preload(rawValue: time) else {
      throw DecodingError.dataCorruptedError(
        forKey: Key.preload, in: container,
        debugDescription: "\(time.quotedForMessage) is none of \"launch\", \"idle\" and \"demand\"")
    }
    self.preload = preload
    prefetch = try container.decodeIfPresent([String].self, forKey: Key.prefetch) ?? []
    for (hex, size) in try container.decodeIfPresent([String: Int64].self, forKey: Key.deltas) ?? [:] {
      guard let digest = SHA256Digest(hex: hex) else {
        throw DecodingError.dataCorruptedError(
          forKey: Key.deltas, in: container, debugDescription: "\(hex.quotedForMessage) is no SHA-256")
      }
      deltas[digest] = size
    }
    additional = try container.decodeAdditional(except: Key.all)
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
    if !asFile || name != path { try container.encode(name, forKey: Key.name) }
    try container.encode(path, forKey: Key.path)
    try container.encodeIfPresent(size, forKey: Key.size)
    try container.encode(md5, forKey: Key.md5)
    try container.encodeIfPresent(sha256, forKey: Key.sha256)
    try container.encodeIfPresent(blob, forKey: Key.blob)
    if preload != .launch { try container.encode(preload, forKey: Key.preload) }
    if !prefetch.isEmpty { try container.encode(prefetch, forKey: Key.prefetch) }
    if !deltas.isEmpty {
      let sizes = deltas.map { ($0.key.hex, $0.value) }
      try container.encode(Dictionary(uniqueKeysWithValues: sizes), forKey: Key.deltas)
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
