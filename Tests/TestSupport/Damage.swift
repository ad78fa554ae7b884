import Foundation
import PageTesting

extension TemporaryDirectory {
  package func names(in subfolder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: file(subfolder)).sorted()
  }
}

/// Changes to files that bypass the store.
package enum Damage {
  package static func overwrite(_ path: String, with text: String) throws {
    try? FileManager.default.removeItem(atPath: path)
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
  }

  /// Flips one bit and keeps the size and the dates, like a failing disk.
  package static func flipBit(_ path: String) throws {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    let first = try file.read(upToCount: 1) ?? Data([0])
    try file.seek(toOffset: 0)
    try file.write(contentsOf: Data([first[0] ^ 1]))
    try file.close()
    if let date = attributes[.modificationDate] {
      try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
    }
  }

  package static func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: path) }

  package static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  package static func permissions(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }
}

extension Damage {
  package static func copy(_ path: String, to target: String) throws {
    try FileManager.default.copyItem(atPath: path, toPath: target)
  }

  package static func makeFolder(_ path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }
}
