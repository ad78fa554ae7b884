import Blobs
import Foundation
import PageKit
import Releases
import Synchronization

/// The bundles of a folder as they are on the disk now, for those who write them: no release, and no store between.
package struct WorkingFolder: Sendable {
  /// The absolute path, without symbolic links and without a slash at its end.
  package let path: String
  /// The names of the bundles that were asked for; `nil` for all of the folder.
  package let names: [String]?
  private let latest = LatestListing()

  private final class LatestListing: Sendable {
    let listing = Mutex<BundleListing?>(nil)
  }

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
      guard isMade || !bundles().names.isEmpty else {
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

  fileprivate static func name(ofFile path: String) -> String { String(path.dropLast(".js".count)) }

  /// The bundles. The folder is walked again only if something in it may have come or gone since the last time.
  package func bundles() -> BundleListing {
    latest.listing.withLock { latest in
      if let latest, latest.isCurrent { return latest }
      let listing = names.map { BundleListing(names: $0) } ?? BundleListing(of: path)
      latest = listing
      return listing
    }
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
  func target(of below: String) -> String? { Self.realPath("\(path)/\(below)") }

  /// The path of a file or folder with no link in it; `nil` if it is not there.
  fileprivate static func realPath(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
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

/// The bundles of a folder and of those below it, as they were when it was walked.
///
/// The folder's own folders come first, and then those that links lead to, so that a link to a large folder keeps none of
/// its own bundles out. A link to a folder around it is not followed.
package final class BundleListing: Sendable {
  /// The names of the bundles: their paths below the folder, without `.js`.
  package let names: [String]
  /// Sentences about folders and files that a bound has left out of the list.
  package let leftOut: [String]
  private let looks: [Look]
  /// `false` if a folder changed just before it was walked. Its next change may have the same time.
  private let isSettled: Bool

  /// The limits of a walk.
  struct Bounds: Sendable {
    var names = 2_000
    /// Files and folders, hidden ones too: of all, and of a folder that a link leads to, with those below it.
    var (entries, linkedEntries) = (100_000, 10_000)
    var links = 2_000
    /// Folders in folders.
    var depth = 16
    /// The sentences about what is left out.
    var leftOut = 20
  }

  /// Something whose change may change the list.
  private enum Look: Equatable, Sendable {
    /// - Parameter real: its path with no link in it.
    case folder(real: String, FileStatus)
    /// - Parameter target: the real path that it leads to; `nil` if nothing is there.
    case link(String, target: String?, FileStatus.Kind?)

    init(ofLink path: String) {
      let target = WorkingFolder.realPath(path)
      self = .link(path, target: target, target.flatMap { FileStatus(ofLink: $0)?.kind })
    }

    var isUnchanged: Bool {
      switch self {
      case .folder(let real, let status): FileStatus(ofLink: real) == status
      case .link(let path, _, _): self == Look(ofLink: path)
      }
    }
  }

  /// Bundles that were asked for by name.
  fileprivate init(names: [String]) { (self.names, leftOut, looks, isSettled) = (names, [], [], true) }

  /// Walks a folder.
  ///
  /// - Parameter path: its real path.
  init(of path: String, within bounds: Bounds = Bounds()) {
    // Before the first look.
    let began = Date().timeIntervalSince1970
    var walk = Walk(root: path, bounds: bounds)
    walk.run()
    (names, leftOut, looks) = (walk.names.sorted(), walk.leftOut, walk.looks)
    isSettled = looks.allSatisfy { look in
      guard case .folder(_, let status) = look else { return true }
      return abs(began - Double(status.modified) / 1e9) > Self.unsureTime
    }
  }

  /// The seconds after a change of a folder in which another change may not change its time.
  private static let unsureTime = 0.1

  /// `true` if a walk would find the same.
  var isCurrent: Bool { isSettled && looks.allSatisfy(\.isUnchanged) }

  /// The folders whose scripts are no bundles.
  private static let skipped: Set<String> = ["node_modules"]

  private struct Place {
    /// The path below the root; empty for the root.
    let path: String
    /// The path with no link in it.
    let real: String
    let depth: Int
    /// The real paths of the folders that the links on the way to it are in.
    var links: [String] = []

    /// Returns `true` for the place itself and for a folder around it, also around a link on the way to it.
    func isWithin(_ folder: String) -> Bool {
      (links + [real]).contains { $0 == folder || folder == "/" || $0.hasPrefix(folder + "/") }
    }
  }

  private struct Walk {
    let root: String
    let bounds: Bounds
    var names: [String] = []
    var leftOut: [String] = []
    var looks: [Look] = []
    private var entries = 0
    /// The folders that links lead to, in the order in which they were found, and the number of links.
    private var linked: [Place] = []
    private var links = 0

    init(root: String, bounds: Bounds) { (self.root, self.bounds) = (root, bounds) }

    mutating func run() {
      if !walk(Place(path: "", real: root, depth: 0), upTo: bounds.entries) {
        leaveOut("the folder has more than \(bounds.entries) files and folders: not all are looked at")
      }
      var next = 0
      while next < linked.count {
        let place = linked[next]
        next += 1
        let (known, found, seen, followed) = (names.count, linked.count, looks.count, links)
        if walk(place, upTo: min(bounds.linkedEntries, bounds.entries - entries)) { continue }
        // A part of it would be a part by chance. Of its folders it alone is looked at again.
        names.removeLast(names.count - known)
        linked.removeLast(linked.count - found)
        looks.removeLast(max(0, looks.count - seen - 1))
        links = followed
        leaveOut(
          entries < bounds.entries
            ? "\(place.path) is left out: it has more than \(bounds.linkedEntries) files and folders"
            : "\(place.path) is left out: with it there are more than \(bounds.entries) files and folders")
      }
      if names.count > bounds.names {
        names.removeLast(names.count - bounds.names)
        leaveOut("there are more than \(bounds.names) bundles: others are left out")
      }
      if links > bounds.links { leaveOut("there are more than \(bounds.links) links: others are not followed") }
    }

    private mutating func leaveOut(_ sentence: String) {
      if leftOut.count < bounds.leftOut { leftOut.append(sentence) }
    }

    /// Walks a folder and those below it that are no links.
    ///
    /// - Parameter limit: the largest number of files and folders.
    /// - Returns: `false` if there are more.
    private mutating func walk(_ start: Place, upTo limit: Int) -> Bool {
      let last = entries + limit
      var left = [start]
      while let place = left.popLast(), names.count <= bounds.names {
        // Before its entries are read: a later change gives it another time.
        guard let status = FileStatus(ofLink: place.real), let stream = opendir(place.real) else { continue }
        defer { closedir(stream) }
        looks.append(.folder(real: place.real, status))
        while let entry = readdir(stream) {
          let text = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
            tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
          }
          if text == "." || text == ".." { continue }
          entries += 1
          guard entries <= last else { return false }
          guard let name = text, !name.hasPrefix(".") else { continue }
          note(name, Int(entry.pointee.d_type), in: place, &left)
        }
      }
      return true
    }

    /// - Parameter type: as `readdir` gives it.
    private mutating func note(_ name: String, _ type: Int, in place: Place, _ left: inout [Place]) {
      let below = place.path.isEmpty ? name : "\(place.path)/\(name)"
      let real = "\(place.real)/\(name)"
      let kind: FileStatus.Kind? =
        switch type {
        case Int(DT_REG): .file
        case Int(DT_DIR): .folder
        case Int(DT_LNK): .other
        case Int(DT_UNKNOWN): FileStatus(ofLink: real)?.kind
        default: nil
        }
      switch kind {
      case .file: noteFile(below)
      case .folder:
        if let inner = entered(name, Place(path: below, real: real, depth: place.depth + 1, links: place.links)) {
          left.append(inner)
        }
      case .other: follow(name, below, in: place)
      case nil: break
      }
    }

    private mutating func noteFile(_ below: String) {
      if below.hasSuffix(".js") { names.append(WorkingFolder.name(ofFile: below)) }
    }

    private mutating func follow(_ name: String, _ below: String, in place: Place) {
      links += 1
      guard links <= bounds.links else { return }
      let look = Look(ofLink: "\(root)/\(below)")
      looks.append(look)
      guard case .link(_, let target?, let kind?) = look else { return }
      if kind == .file { noteFile(below) }
      guard kind == .folder, !place.isWithin(target) else { return }
      let inner = Place(path: below, real: target, depth: place.depth + 1, links: place.links + [place.real])
      if let inner = entered(name, inner) { linked.append(inner) }
    }

    /// - Returns: the folder, if it is to be walked.
    private mutating func entered(_ name: String, _ place: Place) -> Place? {
      guard !BundleListing.skipped.contains(name) else { return nil }
      guard place.depth <= bounds.depth else {
        leaveOut("\(place.path) is left out: it is more than \(bounds.depth) folders deep")
        return nil
      }
      return place
    }
  }
}
