import Foundation

/// The libraries that a process has loaded, from `/proc/PID/maps`, see proc(5).
package enum LoadedLibraries {
  /// The script engine.
  package static let engine = "libjavascriptcoregtk"

  /// Looks for a library in a process.
  ///
  /// - Parameter name: the prefix of the file's name.
  /// - Throws: an error if there is no such process.
  package static func contain(_ name: String, in process: pid_t) throws -> Bool {
    let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/\(process)/maps"))
    defer { try? file.close() }
    // The kernel returns one page at a time.
    var maps = Data()
    while let piece = try file.read(upToCount: 65_536), !piece.isEmpty { maps += piece }
    return String(decoding: maps, as: UTF8.self).contains("/\(name)")
  }
}
