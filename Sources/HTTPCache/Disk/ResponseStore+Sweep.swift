import DiskStorage
import Foundation
import GRDB
import HTTPTransport
import SystemPackage

extension ResponseStore {
  /// Sweeps once a day, whichever process is first.
  func sweepDaily() {
    let files = directory.files(isKept: false)
    let stamp = files.root.appending("swept")
    if let last = FileSystem.status(stamp), options.now() - Double(last.modified) / 1e9 < 86_400 { return }
    // When an index is made, other files are removed.
    if directory.hasStore { sweep(olderThan: 86_400) }
    try? files.write([], to: stamp)
  }

  /// Gives the file system what the index does not use any more, if that is much of it: other responses will use the rest.
  func shrinkLater() {
    let pages = try? index.read { try index.emptyPages($0) }
    guard let pages, pages.empty > 256, pages.empty > pages.all / 4 else { return }
    queues.later { [weak self] in self?.shrink() }
  }

  private func shrink() {
    if (try? index.shrink()) == true { queues.later { [weak self] in self?.shrink() } }
  }

  /// Removes files that a killed process has left: those the index does not name, and bytes nobody is writing.
  ///
  /// - Parameter seconds: 0 for all of them.
  func sweep(olderThan seconds: Double) {
    let limit = options.now() - seconds
    func isOld(_ path: StorePath) -> Bool {
      seconds <= 0 || FileSystem.status(path).map { Double($0.modified) / 1e9 <= limit } ?? false
    }
    // While the index is locked nobody else gives names to files.
    try? index.write(isChange: false) { db in
      for isKept in [false, true] {
        let files = directory.files(isKept: isKept)
        sweepPartial(files.partial, isOld)
        try sweep(files, isKept: isKept, db, isOld)
      }
    }
  }

  private func sweepPartial(_ folder: StorePath, _ isOld: (StorePath) -> Bool) {
    for name in FileSystem.names(in: folder) {
      let path = folder.appending(name)
      guard isOld(path), let file = try? FileSystem.open(path, .readOnly) else { continue }
      if flock(file.rawValue, LOCK_EX | LOCK_NB) == 0 { FileSystem.remove(path) }
      FileSystem.closeLocked(file)
    }
  }

  private func sweep(
    _ files: ResponseFiles, isKept: Bool, _ db: Database, _ isOld: (StorePath) -> Bool
  ) throws {
    let ids = Set(isKept ? try Int64.fetchAll(db, sql: "SELECT id FROM response WHERE isKept = 1") : [])
    let digests = Set(
      try SHA256Digest.fetchAll(db, sql: "SELECT digest FROM body WHERE isKept = ?", arguments: [isKept]))
    for path in files.allEntries() {
      let id = UInt64(path.lastName, radix: 16).map { Int64(bitPattern: $0) }
      if id.map({ !ids.contains($0) }) ?? true, isOld(path) { FileSystem.remove(path) }
    }
    for path in files.allBodies() {
      let digest = SHA256Digest(hex: path.lastName)
      if digest.map({ !digests.contains($0) }) ?? true, isOld(path) { FileSystem.remove(path) }
    }
  }
}
