import Foundation
import HTTPTransport

/// Publishes the contents of a release as differences from those of an older one, as files beside them.
package struct DeltaBuilder: Sendable {
  /// The contents of an older release by the entries' names, with the files that have them.
  private let former: [EntryName: (digest: SHA256Digest, path: String)]

  /// - Parameter place: the path of the older release's folder or manifest.
  /// - Throws: ``FolderError``, ``ManifestError``.
  package init(former place: String) throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: place, isDirectory: &isFolder) else {
      throw FolderError("\(place) is no folder or manifest of an older release: there is no such file")
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
      else { throw FolderError("\(place) cannot be read") }
      let manifest: Manifest
      do {
        manifest = try Manifest(reading: Array(data))
      } catch {
        throw FolderError("\(place) is no manifest of an older release: \(error.sentence)")
      }
      for bundle in try manifest.located(at: url) {
        guard let path = bundle.contentURL.filePath else {
          throw FolderError(
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
  /// - Throws: ``FolderError``.
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
      throw FolderError("\(path) cannot be written: \(error.plainReason)")
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
    guard let data = FileManager.default.contents(atPath: path) else { throw FolderError("\(path) cannot be read") }
    let bytes = Array(data)
    let found = try SHA256Digest(of: bytes)
    guard found == digest else {
      throw FolderError("\(path) has the SHA-256 \(found), and not \(digest) as its manifest says")
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
