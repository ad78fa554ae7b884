import Foundation
import HTTPTransport

/// Makes a manifest from the files in a folder.
package struct ManifestBuilder: Sendable {
  package let folder: String
  /// The path of a file that is left out: the manifest itself, if it is in the folder.
  package var excluded: String?
  /// `true` if `gate.json` has the settings of the gate, and is no file of the release.
  package var hasGate = false

  package init(folder: String) { self.folder = folder }

  /// - Parameters:
  ///   - former: the manifest whose settings of each entry are kept.
  ///   - base: the new manifest's `base`.
  ///   - digests: returns the digests of the file at a path; `nil` to read each file.
  /// - Throws: ``DescribedError``.
  package func manifest(
    following former: Manifest?, base: String, digests known: ((String) throws -> ContentDigests)? = nil
  ) throws -> Manifest {
    let digest = known ?? { try digests(of: $0) }
    return try manifest(of: paths(), following: former, base: base, digests: digest)
  }

  private func manifest(
    of paths: [String], following former: Manifest?, base: String, digests: (String) throws -> ContentDigests
  ) throws -> Manifest {
    let known = Dictionary(
      ((former?.bundles ?? []) + (former?.files ?? [])).map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    var bundles: [Manifest.Entry] = []
    var files: [Manifest.Entry] = []
    for path in paths {
      let isScript = path.hasSuffix(".js")
      let digests = try digests(path)
      var entry =
        known[path]
        ?? Manifest.Entry(name: isScript ? Manifest.Entry.name(forPath: path) : path, path: path, md5: digests.md5)
      // Deltas make the content that they were published for.
      if entry.sha256 != digests.sha256 { entry.deltas = [:] }
      entry.blob = nil
      (entry.size, entry.md5, entry.sha256) = (digests.size, digests.md5, digests.sha256)
      if isScript { bundles.append(entry) } else { files.append(entry) }
    }
    guard !bundles.isEmpty || !files.isEmpty else { throw DescribedError("the folder \(folder) has no files") }
    var manifest = Manifest(
      release: former?.release ?? "", sequence: former?.sequence ?? 0, base: base, bundles: bundles, files: files,
      identity: former?.identity, additional: former?.additional ?? [:])
    if let former { manifest.copyAudience(of: former) }
    return manifest
  }

  /// The digests of a file. A file whose name ends in `.js` must be a script, and none may have a private key.
  ///
  /// - Throws: ``DescribedError``.
  package func digests(of path: String) throws -> ContentDigests {
    let bytes = try read(path)
    if Self.hasPrivateKey(bytes) {
      throw DescribedError("\(folder)/\(path) has a private key, which is not published: move it out of the folder")
    }
    if path.hasSuffix(".js") { try checkScript(bytes, path) }
    return try ContentDigests(of: bytes)
  }

  /// `true` if `status.json` is the status, also without signatures beside it.
  package var hasStatus = false

  /// `true` if `status.json` is the status: by default with signatures beside it, and a file of the release otherwise.
  private var leavesOutStatus: Bool {
    hasStatus || access("\(folder)/\(ReleaseStatus.fileName)\(SignatureFile.suffix)", F_OK) == 0
  }

  /// Returns `true` if there is a private key in the form of PEM (RFC 7468), also as a text in a script or in JSON. The
  /// words of its first line alone, as libraries that read keys have them, are none.
  private static func hasPrivateKey(_ bytes: [UInt8]) -> Bool {
    let head = Array("-----BEGIN ".utf8)
    return bytes.withUnsafeBufferPointer { bytes in
      var rest = bytes[...]
      while let start = rest.firstIndex(of: UInt8(ascii: "-")) {
        rest = rest[start...]
        if rest.starts(with: head) {
          rest = rest.dropFirst(head.count)
          if isPrivateKey(String(decoding: rest.prefix(256), as: UTF8.self)) { return true }
        } else {
          rest = rest.dropFirst()
        }
      }
      return false
    }
  }

  /// - Parameter text: follows the words "BEGIN".
  private static func isPrivateKey(_ text: String) -> Bool {
    // "BLOCK" is that of OpenPGP.
    guard let end = text.firstRange(of: "-----"),
      ["PRIVATE KEY", "PRIVATE KEY BLOCK"].contains(where: { text[..<end.lowerBound].hasSuffix($0) })
    else { return false }
    // In the text of a script line breaks are written as "\n".
    let rest = text[end.upperBound...].drop { $0.isWhitespace || $0 == "\\" || $0 == "n" || $0 == "r" }
    // RFC 1421 §4.4: the head of an encrypted key. RFC 9580 §6.2.1: that of a key of OpenPGP.
    if rest.hasPrefix("Proc-Type:") || rest.hasPrefix("Version:") { return true }
    let digits = rest.utf8.prefix {
      switch $0 {
      case 48...57, 65...90, 97...122, UInt8(ascii: "+"), UInt8(ascii: "/"): true
      default: false
      }
    }
    return digits.count >= 32
  }

  /// Returns `true` for the names of the copies that editors and merges leave beside a file.
  private static func isCopyOfEditor(_ name: String) -> Bool {
    [".swp", ".orig", "~"].contains { name.hasSuffix($0) }
      || name.count > 1 && name.hasPrefix("#") && name.hasSuffix("#")
  }

  /// The paths of all files below the folder, sorted, without hidden files, copies of editors, and the files published
  /// beside a manifest: its signatures, the roots, the status and the deltas.
  ///
  /// - Throws: ``DescribedError`` for a file that cannot be published, so that no release silently lacks it.
  private func paths() throws -> [String] {
    let excluded = excluded.map { URL(fileURLWithPath: $0).standardizedFileURL.path }
    var found: [String] = []
    try walk("", excluding: excluded, &found)
    return found.sorted()
  }

  private func walk(_ path: String, excluding excluded: String?, _ found: inout [String]) throws {
    let full = path.isEmpty ? folder : "\(folder)/\(path)"
    for name in try Self.names(in: full) where !name.hasPrefix(".") {
      let child = path.isEmpty ? name : "\(path)/\(name)"
      var status = stat()
      guard lstat("\(folder)/\(child)", &status) == 0 else { throw DescribedError("\(folder)/\(child) cannot be read") }
      switch status.st_mode & S_IFMT {
      case S_IFDIR:
        try walk(child, excluding: excluded, &found)
      case S_IFREG:
        let signed = SignatureFile.signedName(of: name)
        let isRoot = path.isEmpty && PublishedRoot.version(ofFile: signed) != nil
        let file = URL(fileURLWithPath: "\(full)/\(signed)").standardizedFileURL.path
        let isStatus = path.isEmpty && signed == ReleaseStatus.fileName && leavesOutStatus
        let isGate = path.isEmpty && name == "gate.json" && hasGate
        let isDelta = path == Manifest.deltaFolder && Manifest.delta(named: name) != nil
        if file != excluded, !isRoot, !isStatus, !isGate, !isDelta, !Self.isCopyOfEditor(name) { found.append(child) }
      case S_IFLNK:
        throw DescribedError("\(folder)/\(child) is a symbolic link: a release is made of files")
      default:
        throw DescribedError("\(folder)/\(child) is not a regular file")
      }
    }
  }

  private static func names(in folder: String) throws -> [String] {
    guard let stream = opendir(folder) else {
      throw DescribedError("the folder \(folder) cannot be read: \(String(cString: strerror(errno)))")
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
        tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
      }
      guard let name else { throw DescribedError("the folder \(folder) has a file whose name is not UTF-8") }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  private func read(_ path: String) throws -> [UInt8] {
    do {
      return Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + path)))
    } catch {
      throw DescribedError("\(folder)/\(path) cannot be read: \(error.plainReason)")
    }
  }

  /// Refuses a script that clients would refuse to run.
  private func checkScript(_ bytes: [UInt8], _ path: String) throws {
    if let fault = ScriptCheck.fault(of: bytes) {
      throw DescribedError("\(folder)/\(path) is no script: it is \(fault)")
    }
  }
}

extension Manifest {
  /// The sequence of the release that follows one with another sequence.
  ///
  /// - Throws: ``DescribedError`` if there is no larger one.
  package static func sequence(after last: Int64) throws -> Int64 {
    guard last < Int64.sequenceLimit else {
      throw DescribedError("the release before has the sequence \(last), and \(Int64.sequenceLimit) is the largest one")
    }
    return max(0, last) + 1
  }
}

/// Publishes the contents of a release as differences from those of an older one, as files beside them.
package struct DeltaBuilder: Sendable {
  /// The contents of an older release by the entries' names, with the files that have them.
  private let former: [EntryName: (digest: SHA256Digest, path: String)]

  /// - Parameter place: the path of the older release's folder or manifest.
  /// - Throws: ``DescribedError``, ``ManifestError``.
  package init(former place: String) throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: place, isDirectory: &isFolder) else {
      throw DescribedError("\(place) is no folder or manifest of an older release: there is no such file")
    }
    var former: [EntryName: (digest: SHA256Digest, path: String)] = [:]
    if isFolder.boolValue {
      let manifest = try ManifestBuilder(folder: place).manifest(following: nil, base: "")
      for (name, entry) in manifest.named {
        if let digest = entry.sha256 { former[name] = (digest, "\(place)/\(entry.path)") }
      }
    } else {
      guard let data = FileManager.default.contents(atPath: place),
        let url = PageURL(filePath: place)
      else { throw DescribedError("\(place) cannot be read") }
      let manifest: Manifest
      do {
        manifest = try Manifest(reading: Array(data))
      } catch {
        throw DescribedError("\(place) is no manifest of an older release: \(error.sentence)")
      }
      for bundle in try manifest.located(at: url) {
        guard let path = bundle.contentURL.filePath else {
          throw DescribedError(
            "\(place) says that its files are at \(bundle.contentURL): name the folder that has them in the place of the manifest"
          )
        }
        guard let digest = bundle.sha256 else { continue }
        former[EntryName(bundle)] = (digest, path)
      }
    }
    self.former = former
  }

  /// Writes the differences that are smaller than the contents compressed by themselves, and lists them in the manifest.
  /// One that is there already is written again.
  ///
  /// - Parameters:
  ///   - manifest: lists the files of `folder`.
  ///   - made: is called after each entry whose content differs from the older one, with the number of bytes of the
  ///     content and of the difference, if one was written.
  /// - Throws: ``DescribedError``.
  package func addDeltas(
    to manifest: inout Manifest, of folder: String, made: (_ entry: Manifest.Entry, _ size: Int64?) -> Void
  ) throws {
    for index in manifest.bundles.indices { try add(&manifest.bundles[index], .bundle, folder, made) }
    for index in manifest.files.indices { try add(&manifest.files[index], .file, folder, made) }
  }

  private func add(
    _ entry: inout Manifest.Entry, _ kind: PageBundle.Kind, _ folder: String,
    _ made: (_ entry: Manifest.Entry, _ size: Int64?) -> Void
  ) throws {
    guard let target = entry.sha256, let size = entry.size, size > 0, size <= ContentDictionary.sizeLimit,
      let former = former[EntryName(kind: kind, name: entry.name)], former.digest != target,
      (FileManager.default.sizeOfFile(former.path) ?? .max) <= ContentDictionary.sizeLimit
    else { return }
    let base = try Self.read(former.path, former.digest)
    let content = try Self.read("\(folder)/\(entry.path)", target)
    guard let delta = Self.delta(of: content, from: base, digest: former.digest) else { return made(entry, nil) }
    let path = "\(folder)/\(Manifest.deltaPath(to: target, from: former.digest))"
    do {
      try FileManager.default.createDirectory(
        atPath: "\(folder)/\(Manifest.deltaFolder)", withIntermediateDirectories: true)
      try Data(delta).write(to: URL(fileURLWithPath: path), options: .atomic)
    } catch {
      throw DescribedError("\(path) cannot be written: \(error.plainReason)")
    }
    entry.deltas[former.digest] = Int64(delta.count)
    made(entry, Int64(delta.count))
  }

  /// The difference of a content from an older one; `nil` if it is not smaller than the content compressed by itself.
  ///
  /// - Parameter digest: the older one's SHA-256.
  package static func delta(of content: [UInt8], from base: [UInt8], digest: SHA256Digest) -> [UInt8]? {
    let delta = DictionaryZstd.encode(content, with: ContentDictionary(base, digest: digest))
    let whole = DictionaryZstd.encode(content, with: ContentDictionary([], digest: digest))
    guard let delta, let whole, delta.count < whole.count else { return nil }
    return delta
  }

  private static func read(_ path: String, _ digest: SHA256Digest) throws -> [UInt8] {
    guard let data = FileManager.default.contents(atPath: path) else { throw DescribedError("\(path) cannot be read") }
    let bytes = Array(data)
    let found = try SHA256Digest(of: bytes)
    guard found == digest else {
      throw DescribedError("\(path) has the SHA-256 \(found), and not \(digest) as its manifest says")
    }
    return bytes
  }
}

extension Manifest {
  /// The entries by their names.
  fileprivate var named: [(EntryName, Entry)] {
    bundles.map { (EntryName(kind: .bundle, name: $0.name), $0) }
      + files.map { (EntryName(kind: .file, name: $0.name), $0) }
  }
}

extension FileManager {
  fileprivate func sizeOfFile(_ path: String) -> Int64? {
    ((try? attributesOfItem(atPath: path))?[.size] as? Int).map(Int64.init)
  }
}
