import Foundation
import HTTPTransport

/// The file beside the cache with the host's position in the journal.
///
/// It is written after what it says was settled: after a crash orders may be carried out again, and none is left out.
struct PositionFile: Sendable {
  let path: String

  /// - Returns: `nil` if there is none that can be read: then nothing is known of what is stored.
  func read() -> FleetPosition.Saved? {
    guard let data = FileManager.default.contents(atPath: path), data.count <= 4096,
      let value = try? JSONValue(reading: Array(data))
    else { return nil }
    return try? value.decoded(as: FleetPosition.Saved.self)
  }

  /// - Throws: an error of the file system.
  func write(_ position: FleetPosition.Saved) throws {
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try JSONEncoder().encode(position).write(to: URL(fileURLWithPath: path), options: .atomic)
  }
}
