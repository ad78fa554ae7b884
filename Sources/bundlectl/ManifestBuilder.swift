import Foundation
import PageKit

/// Makes a manifest of the files in a folder.
struct ManifestBuilder {
  let folder: String
  /// A file that is not part of the release: the manifest itself, where it lies in the folder.
  var excluded: String?

  init(folder: String) { self.folder = folder }

  /// - Parameters:
  ///   - former: whose settings of each entry are kept.
  ///   - base: taken as it is.
  func manifest(following former: Manifest?, base: String) throws -> Manifest {
    let known = Dictionary(
      ((former?.bundles ?? []) + (former?.files ?? [])).map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    var bundles: [Manifest.Entry] = []
    var files: [Manifest.Entry] = []
    for path in try paths() {
      let isScript = path.hasSuffix(".js")
      let bytes = try read(path)
      if isScript { try checkScript(bytes, path) }
      let digests = try ContentDigests(of: bytes)
      var entry =
        known[path]
        ?? Manifest.Entry(name: isScript ? Manifest.Entry.name(forPath: path) : path, path: path, md5: digests.md5)
      (entry.size, entry.md5, entry.sha256) = (digests.size, digests.md5, digests.sha256)
      if isScript { bundles.append(entry) } else { files.append(entry) }
    }
    guard !bundles.isEmpty || !files.isEmpty else { throw CommandError("the folder \(folder) has no files") }
    return Manifest(
      release: former?.release ?? "", sequence: former?.sequence ?? 0, base: base, bundles: bundles, files: files,
      additional: former?.additional ?? [:])
  }

  /// Below the folder, sorted; hidden files are left out.
  private func paths() throws -> [String] {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue,
      let walk = FileManager.default.enumerator(atPath: folder)
    else { throw CommandError("\(folder) is no folder that can be read") }
    let excluded = excluded.map { URL(fileURLWithPath: $0).standardizedFileURL.path }
    var paths: [String] = []
    while let path = walk.nextObject() as? String {
      let name = path.split(separator: "/").last ?? ""
      if name.hasPrefix(".") {
        walk.skipDescendants()
        continue
      }
      let full = URL(fileURLWithPath: folder + "/" + path).standardizedFileURL.path
      guard FileManager.default.fileExists(atPath: full, isDirectory: &isFolder), !isFolder.boolValue, full != excluded
      else { continue }
      paths.append(path)
    }
    return paths.sorted()
  }

  private func read(_ path: String) throws -> [UInt8] {
    do {
      return Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + path)))
    } catch {
      throw CommandError("\(folder)/\(path) cannot be read: \(error.localizedDescription)")
    }
  }

  /// What no client would run must not be published.
  private func checkScript(_ bytes: [UInt8], _ path: String) throws {
    if let fault = ScriptCheck.fault(of: bytes) {
      throw CommandError("\(folder)/\(path) is no script: it is \(fault)")
    }
  }
}
