import Blobs
import Foundation
import HTTPTransport
import SystemPackage

/// The folders of a response store: one for what may be lost, another for what is kept.
public struct ResponseDirectory: Hashable, Sendable {
  /// The system may empty it at any time.
  private(set) var cache: StorePath
  /// The folder of what is kept.
  private(set) var durable: StorePath
  /// The folders that may not be written, and in front of which these stand; none for others.
  private var base: [ResponseDirectory] = []

  /// Makes the folders of a response store.
  ///
  /// - Parameters:
  ///   - cache: the path of the folder that may be emptied at any time.
  ///   - durable: the path of the folder for responses that are kept; `nil` for the same folder.
  public init(_ cache: String, durable: String? = nil) {
    self.cache = StorePath(FilePath(cache).lexicallyNormalized())
    self.durable = StorePath(FilePath(durable ?? cache).lexicallyNormalized())
  }

  /// The folders of the responses that belong to a store of releases: those of ``StoreDirectory/standard(environment:)``
  /// and ``StoreDirectory/app(_:environment:)`` have a part in the user's cache folder.
  public init(beside store: StoreDirectory) {
    self.init(store.cache ?? store.path, durable: store.path)
  }

  /// A part with a folder of its own.
  package func region(_ name: String) -> ResponseDirectory {
    // Whatever the name is, it is one component of a path.
    let component = name.utf8.map { byte -> String in
      switch byte {
      case 48...57, 65...90, 97...122, 45, 95: String(UnicodeScalar(byte))
      default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }.joined()
    // A path has no empty components.
    let folder = component.isEmpty ? "%" : component
    var region = self
    region.cache = cache.appending(Self.regions).appending(folder)
    region.durable = durable.appending(Self.regions).appending(folder)
    region.base = base.map { $0.region(name) }
    return region
  }

  static let regions = "regions"

  /// The names of the parts that have a folder.
  package var regionNames: [String] {
    let folders = Set([cache, durable].flatMap { FileSystem.names(in: $0.appending(Self.regions)) })
    let names = folders.compactMap { $0 == "%" ? "" : $0.removingPercentEncoding }
    return Set(names + base.flatMap(\.regionNames)).sorted()
  }

  /// Returns `true` if anything was ever stored here.
  package var hasStore: Bool { FileSystem.status(database) != nil }

  /// Returns `true` if this process may write the folders, and the index if there is one.
  var mayBeWritten: Bool {
    [database, lock].allSatisfy { path in
      guard let found = FileSystem.status(path) else { return true }
      return found.kind == .file && access(path.string, W_OK) == 0
    } && [cache, durable].allSatisfy { access($0.string, W_OK) == 0 }
  }

  /// The files of what is kept.
  package var durablePath: String { durable.string }

  /// SQLite opens it by its path.
  var database: StorePath { cache.appending("responses.sqlite") }
  var lock: StorePath { cache.appending("responses.lock") }
  /// The folder for the bytes of new responses.
  var partial: StorePath { files(isKept: false).partial }

  func files(isKept: Bool) -> ResponseFiles {
    ResponseFiles(root: root(isKept: isKept), base: base.first?.root(isKept: isKept), isDurable: isKept)
  }

  private func root(isKept: Bool) -> StorePath { isKept ? durable.appending("kept") : cache.appending("responses") }

  /// Makes the folders that are missing. Only their owner may read what they contain: cookies and credentials may be
  /// among it.
  func create() throws {
    let all = [false, true].map { files(isKept: $0) }
    for folder in all.flatMap({ [$0.root, $0.bodies.root, $0.partial] + ($0.isDurable ? [$0.entries] : []) }) {
      if let found = FileSystem.status(folder), found.kind != .folder {
        try FileSystem.rename(folder, to: folder.extended(by: ".foreign-\(UUID().uuidString)"))
      }
      try FileSystem.makeFolders(folder)
    }
    for files in all {
      try FileSystem.withFile(files.root, .readOnly, options: .directory) { _ = fchmod($0.rawValue, 0o700) }
    }
  }
}

extension ResponseDirectory {
  /// `true` for folders that a session has in front of others, which may not be written.
  var isSession: Bool { !base.isEmpty }

  /// The same responses, regions too, in a folder that can be written: indexes are copied, and files are read where they
  /// are. Changes there change nothing here.
  ///
  /// - Throws: ``StoreError``.
  package func session(in folder: String) throws -> ResponseDirectory {
    var session = ResponseDirectory(folder)
    session.base = [self]
    for (from, to) in [(self, session)] + regionNames.map({ (region($0), session.region($0)) }) {
      for suffix in ["", "-wal"] {
        let (source, target) = (from.database.extended(by: suffix), to.database.extended(by: suffix))
        guard FileSystem.status(source) != nil else { continue }
        try FileSystem.makeFolders(to.cache)
        // Of one that is torn by a writer what is kept is left.
        try? FileManager.default.copyItem(atPath: source.string, toPath: target.string)
        // The copy has the permissions of what may not be written.
        chmod(target.string, 0o600)
      }
    }
    return session
  }

  /// The error for what is here and may not be read; `nil` if all may. Stored responses are their owner's alone to
  /// read, since cookies and credentials may be among them.
  package var unreadable: StoreError? {
    for folder in Set([cache, durable]) {
      for name in ["responses.sqlite", "responses", "kept"] {
        let path = folder.appending(name)
        guard let status = FileSystem.status(path) else { continue }
        if access(path.string, status.isFolder ? R_OK | X_OK : R_OK) != 0 {
          return .notReadable(path: path.string, reason: String(cString: strerror(errno)))
        }
      }
    }
    return nil
  }
}
