import HTTPTransport

extension Manifest {
  /// The shapes of manifests that are understood.
  public enum Dialect: String, Sendable {
    /// PageKit's own.
    case pageKit
    /// `{"filesMd5": [{"page", "md5"}], "jsVersion", "jsPath"}`
    case eros
    /// `[{"path", "md5"}]`
    case weexbox

    /// Whether files have the digests that the manifest says. The tools of Eros and weexbox digest scripts; what they
    /// say of pictures and fonts may be wrong, as where Eros reads them as text.
    var hasReliableFileDigests: Bool { self == .pageKit }

    /// A file beside the manifest that has the release's name; `nil` where the manifest has it itself.
    public var nameFile: String? { self == .weexbox ? "update-config.json" : nil }
  }

  /// The name of a release whose manifest has none.
  public static let unnamed = "unnamed"

  /// Takes the release's name from the file that the dialect has it in.
  ///
  /// - Returns: whether there was a name that can be used.
  public mutating func takeName(from nameFile: [UInt8]) -> Bool {
    struct Config: Decodable { let release: String }
    guard let found = try? JSONValue(reading: nameFile).decoded(as: Config.self).release,
      Self.isUsableName(found)
    else { return false }
    release = found
    return true
  }

  /// Reads and validates a manifest whole; the dialect is recognised by its shape.
  ///
  /// - Throws: ``ManifestError``, with every faulty entry in it.
  public init(reading bytes: [UInt8], limits: ManifestLimits = .standard) throws {
    // Editors on some systems put a mark in front that is no part of JSON.
    let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    guard Int64(bytes.count) <= limits.manifestBytes else {
      throw ManifestError.tooLarge(size: Int64(bytes.count), limit: limits.manifestBytes)
    }
    // The decoder would guess at other encodings, and replace what it cannot read.
    guard String(validating: bytes, as: UTF8.self) != nil else { throw ManifestError.notUTF8 }
    if let reason = ManifestError.notJSONReason(bytes) { throw ManifestError.notJSON(reason: reason) }
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
}

/// A manifest as it was read, with what could not be read of it.
private struct ManifestDraft: Decodable {
  var manifest = Manifest(release: "", bundles: [])
  var faults: [ManifestFault] = []

  init(from decoder: any Decoder) throws {
    if let list = try? decoder.singleValueContainer().decode([Tolerant<WeexboxEntry>].self) {
      readWeexbox(list)
      return
    }
    guard let container = try? decoder.container(keyedBy: AnyKey.self) else { throw ManifestError.unrecognised }
    if container.contains(ErosKey.filesMd5) {
      try readEros(container)
    } else if container.contains(Manifest.Key.bundles) {
      try readPageKit(container)
    } else {
      throw ManifestError.unrecognised
    }
  }

  // MARK: PageKit

  private mutating func readPageKit(_ container: KeyedDecodingContainer<AnyKey>) throws {
    let schema = field(Manifest.Key.schema, in: container, as: Int64.self)
    if let schema, schema != Manifest.supportedSchema {
      throw ManifestError.unsupportedSchema(found: schema, supported: Manifest.supportedSchema)
    }
    manifest.release = field(Manifest.Key.release, in: container, as: String.self) ?? ""
    manifest.sequence = optionalField(Manifest.Key.sequence, in: container, as: Int64.self) ?? 0
    manifest.base = optionalField(Manifest.Key.base, in: container, as: String.self) ?? ""
    manifest.bundles = entries(Manifest.Key.bundles, in: container)
    if container.contains(Manifest.Key.files) { manifest.files = entries(Manifest.Key.files, in: container) }
    manifest.identity = optionalField(Manifest.Key.identity, in: container, as: PageIdentity.self)
    manifest.additional = try container.decodeAdditional(except: Manifest.Key.all)
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

  private enum ErosKey {
    static let filesMd5 = AnyKey("filesMd5")
    static let jsVersion = AnyKey("jsVersion")
    static let jsPath = AnyKey("jsPath")
  }

  private struct ErosEntry: Decodable {
    let page: String
    let md5: MD5Digest
  }

  private mutating func readEros(_ container: KeyedDecodingContainer<AnyKey>) throws {
    manifest.dialect = .eros
    // `jsPath` names the zip of the whole set; the pages lie beside the manifest.
    manifest.release = optionalField(ErosKey.jsVersion, in: container, as: String.self) ?? Manifest.unnamed
    if let list = field(ErosKey.filesMd5, in: container, as: [Tolerant<ErosEntry>].self) {
      manifest.bundles = unwrap(list, listName: "filesMd5") { Self.entry(path: $0.page, md5: $0.md5) }
    }
    splitFiles()
    manifest.additional = try container.decodeAdditional(except: ["filesMd5", "jsVersion"])
  }

  // MARK: weexbox

  private struct WeexboxEntry: Decodable {
    let path: String
    let md5: MD5Digest
  }

  private mutating func readWeexbox(_ list: [Tolerant<WeexboxEntry>]) {
    manifest.dialect = .weexbox
    manifest.release = Manifest.unnamed
    manifest.bundles = unwrap(list, listName: "entry") { Self.entry(path: $0.path, md5: $0.md5) }
    if list.isEmpty { faults.append(ManifestFault(subject: "the manifest", reason: "it lists nothing")) }
    splitFiles()
  }

  /// Fleets write paths from the root of their folder; ours are relative.
  private static func entry(path: String, md5: MD5Digest) -> Manifest.Entry {
    let relative = path.hasPrefix("/") ? String(path.dropFirst()) : path
    return Manifest.Entry(name: Manifest.Entry.name(forPath: relative), path: relative, md5: md5)
  }

  /// Fleets list scripts and pictures together.
  private mutating func splitFiles() {
    manifest.files = manifest.bundles.filter { !$0.path.hasSuffix(".js") }
    manifest.bundles.removeAll { !$0.path.hasSuffix(".js") }
  }
}

extension Manifest.Entry {
  /// A bundle's name when only its path is known: the path without `.js`.
  public static func name(forPath path: String) -> String {
    path.hasSuffix(".js") ? String(path.dropLast(3)) : path
  }
}

/// An element of a list that may be faulty without making the others unreadable.
private struct Tolerant<Value: Decodable>: Decodable {
  let result: Result<Value, any Error>
  /// What the element calls itself, where it is faulty.
  let name: String?

  private struct Label: Decodable {
    let name: String?

    init(from decoder: any Decoder) throws {
      let container = try? decoder.container(keyedBy: AnyKey.self)
      let names = ["name", "path", "page"].lazy.compactMap { try? container?.decode(String.self, forKey: AnyKey($0)) }
      name = names.first
    }
  }

  init(from decoder: any Decoder) throws {
    do {
      result = .success(try Value(from: decoder))
      name = nil
    } catch {
      result = .failure(error)
      name = try? Label(from: decoder).name
    }
  }
}
