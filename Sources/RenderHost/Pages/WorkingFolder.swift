import Blobs
import Foundation
import PageKit
import Releases

/// The bundles of a folder as they are on the disk now, for those who write them: no release, and no store between.
package struct WorkingFolder: Sendable {
  /// The absolute path, without symbolic links and without a slash at its end.
  package let path: String
  /// The names of the bundles that were asked for; `nil` for all of the folder.
  package let names: [String]?

  /// The limit of bundles that are listed, and of folders in folders.
  private static let listLimit = 2_000
  private static let depthLimit = 16
  /// The limit of folders in which bundles are looked for: those that links lead to may lead to each other.
  private static let folderLimit = 10_000
  /// The folders whose scripts are no bundles.
  private static let skipped: Set<String> = ["node_modules"]

  /// - Parameters:
  ///   - paths: a folder, or files, which must be scripts.
  ///   - isMade: `true` for a folder that another program will fill: it may be empty, and is made if it is not there.
  /// - Throws: ``DescribedError`` that names the path that cannot be used.
  package init(_ paths: [String], isMade: Bool = false) throws {
    if isMade, paths.count == 1, !paths[0].hasSuffix(".js"), !FileManager.default.fileExists(atPath: paths[0]) {
      do {
        try FileManager.default.createDirectory(atPath: paths[0], withIntermediateDirectories: true)
      } catch {
        throw DescribedError("\(paths[0]) cannot be made: \(error.plainReason)")
      }
    }
    let found = try paths.map { path in
      let real = URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath().path
      guard let status = FileStatus(ofLink: real) else {
        throw DescribedError("\(path): there is no such file or folder")
      }
      return (path: real, isFolder: status.isFolder, name: path)
    }
    if found.count == 1, found[0].isFolder {
      self.init(path: found[0].path, names: nil)
      guard isMade || !bundles().isEmpty else {
        throw DescribedError(
          "\(found[0].name) has no bundles: it and the folders in it have no file that ends with .js")
      }
      return
    }
    if let folder = found.first(where: \.isFolder) {
      throw DescribedError("\(folder.name) is a folder: give one folder alone, or files")
    }
    if let other = found.first(where: { !$0.path.hasSuffix(".js") }) {
      throw DescribedError("\(other.name) is not a bundle: its name does not end with .js")
    }
    var shared = found.first.map { $0.path.split(separator: "/").dropLast() } ?? []
    for file in found.dropFirst() {
      let parts = file.path.split(separator: "/").dropLast()
      shared = zip(shared, parts).prefix { $0 == $1 }.map(\.0)
    }
    guard !shared.isEmpty else { throw DescribedError("the files are in no common folder but /: start one for each") }
    let folder = "/" + shared.joined(separator: "/")
    self.init(
      path: folder,
      names: found.map { Self.name(ofFile: String($0.path.dropFirst(folder == "/" ? 1 : folder.count + 1))) })
  }

  private init(path: String, names: [String]?) { (self.path, self.names) = (path, names) }

  /// Returns `true` for a regular file, or a link to one.
  private static func isFile(_ path: String) -> Bool {
    FileStatus(ofLink: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)?.kind == .file
  }

  private static func name(ofFile path: String) -> String { String(path.dropLast(".js".count)) }

  /// The names of the bundles: their paths below the folder, without `.js`. At most 2,000 are listed.
  package func bundles() -> [String] {
    if let names { return names }
    var found: [String] = []
    // With the real paths of the folders around each that a link leads to.
    var left = [(path: "", around: [path])]
    var folders = 0
    while let next = left.popLast(), found.count < Self.listLimit, folders < Self.folderLimit {
      folders += 1
      let full = next.path.isEmpty ? path : "\(path)/\(next.path)"
      for name in (try? FileManager.default.contentsOfDirectory(atPath: full)) ?? []
      where !name.hasPrefix(".") && found.count < Self.listLimit {
        let below = next.path.isEmpty ? name : "\(next.path)/\(name)"
        if name.hasSuffix(".js"), Self.isFile("\(path)/\(below)") {
          found.append(Self.name(ofFile: below))
        } else if next.around.count <= Self.depthLimit, !Self.skipped.contains(name), let real = target(of: below),
          FileStatus(ofLink: real)?.isFolder == true, !next.around.contains(real)
        {
          left.append((below, next.around + [real]))
        }
      }
    }
    return found.sorted()
  }

  /// The URL of a bundle's file; `nil` if there is none of this name.
  ///
  /// - Parameter name: the path below the folder, with or without `.js`.
  func url(named name: String) -> PageURL? {
    let below = name.hasSuffix(".js") ? name : name + ".js"
    let parts = below.split(separator: "/", omittingEmptySubsequences: false)
    guard !parts.contains(where: { $0.isEmpty || $0.hasPrefix(".") }),
      Self.isFile("\(path)/\(below)")
    else { return nil }
    return PageURL(filePath: "\(path)/\(below)")
  }

  /// The real path of a file, with no link in it; `nil` if it is not there.
  ///
  /// - Parameter below: its path below the folder.
  func target(of below: String) -> String? {
    guard let real = realpath("\(path)/\(below)", nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }

  /// Returns `true` if there is a link in the path of a file.
  ///
  /// - Parameters:
  ///   - below: its path below the folder.
  ///   - target: its real path; `nil` if it is not there.
  func isLinked(_ below: String, to target: String?) -> Bool {
    if let target { target != "\(path)/\(below)" } else { FileStatus(ofLink: "\(path)/\(below)") != nil }
  }

  /// Returns `true` if the file of a bundle, or the target of its link, is no longer there.
  func isGone(_ url: PageURL) -> Bool {
    guard let below = path(of: url) else { return false }
    return access("\(path)/\(below)", F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)
  }

  /// Returns `true` for a bundle that is listed.
  func isAskedFor(_ url: PageURL) -> Bool { names.map { name(of: url).map($0.contains) ?? false } ?? true }

  /// The name of a bundle; `nil` for a URL of something else.
  func name(of url: PageURL) -> String? { path(of: url).map(Self.name) }

  /// The path of a bundle's file below the folder; `nil` for a URL of something else.
  func path(of url: PageURL) -> String? {
    guard let file = url.filePath, file.hasPrefix(path + "/") else { return nil }
    return String(file.dropFirst(path.count + 1))
  }

  /// Reads a bundle.
  ///
  /// - Throws: ``DescribedError``, which names the file.
  func load(_ url: PageURL) throws -> LoadedBundle {
    guard let below = path(of: url) else {
      throw DescribedError("\(url) is not read: it is outside the folder of bundles")
    }
    do {
      let bytes = try RegularFile.contents(of: "\(path)/\(below)", upTo: ManifestLimits.standard.fileBytes)
      if let fault = BundleFault(in: bytes) { throw DescribedError("\(below) is not a bundle: \(fault)") }
      return try LoadedBundle(file: url, bytes)
    } catch let error as RegularFileError {
      throw DescribedError("\(below) cannot be read: \(error)")
    }
  }
}
