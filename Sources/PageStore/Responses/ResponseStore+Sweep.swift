import Foundation
import GRDB
import PageCore
import SystemPackage

extension ResponseStore {
  /// Sweeps once a day, whichever process is first.
  func sweepDaily() {
    let stamp = directory.partial.removingLastComponent().appending("swept")
    let day: Int64 = 86_400 * 1_000_000_000
    if let last = FileSystem.status(stamp), Int64(options.now() * 1e9) - last.modified < day { return }
    sweep(olderThan: 86_400)
    try? ResponseFiles.write([], to: stamp, by: temporary(), durably: false)
  }

  /// Removes files that a killed process has left: those the index does not name, and bytes nobody is writing.
  ///
  /// - Parameter seconds: younger ones may be on their way into the index.
  func sweep(olderThan seconds: Double) {
    let limit = Int64((options.now() - seconds) * 1e9)
    func isOld(_ path: FilePath) -> Bool { FileSystem.status(path).map { $0.modified <= limit } ?? false }
    for name in FileSystem.names(in: directory.partial) {
      let path = directory.partial.appending(name)
      guard isOld(path), let file = try? FileSystem.open(path, .readOnly) else { continue }
      if flock(file.rawValue, LOCK_EX | LOCK_NB) == 0 { FileSystem.remove(path) }
      FileSystem.closeLocked(file)
    }
    for isKept in [false, true] { sweep(directory.files(isKept: isKept), isKept: isKept, isOld) }
  }

  private func sweep(_ files: ResponseFiles, isKept: Bool, _ isOld: (FilePath) -> Bool) {
    let named = try? index.read { db in
      (
        Set(try Int64.fetchAll(db, sql: "SELECT id FROM response WHERE isKept = ?", arguments: [isKept])),
        Set(try SHA256Digest.fetchAll(db, sql: "SELECT digest FROM body WHERE isKept = ?", arguments: [isKept]))
      )
    }
    guard let (ids, digests) = named else { return }
    for path in files.allEntries() {
      let id = path.lastComponent.flatMap { UInt64($0.string, radix: 16) }.map { Int64(bitPattern: $0) }
      if id.map({ !ids.contains($0) }) ?? true, isOld(path) { FileSystem.remove(path) }
    }
    for path in files.allBodies() {
      let digest = path.lastComponent.flatMap { SHA256Digest(hex: $0.string) }
      if digest.map({ !digests.contains($0) }) ?? true, isOld(path) { FileSystem.remove(path) }
    }
  }
}
