import Foundation
import HTTPTransport

/// The file beside the cache with the host's position in the journal.
///
/// It is written after what it says was settled: after a crash orders may be carried out again, and none is left out.
struct PositionFile: Sendable {
  struct Content: Hashable {
    /// The position among the orders.
    var orders: FleetPosition.Saved
    /// The position among the reports; `nil` in a file of the version before.
    var reports: FleetPosition.Saved?
    /// No stored response was asked for after this time of the clock, in seconds since 1970; `nil` in a file of the
    /// version before.
    var clock: Int64?
  }

  let path: String

  /// - Returns: `nil` if there is none that can be read: then nothing is known of what is stored.
  func read() -> Content? {
    guard let data = FileManager.default.contents(atPath: path), data.count <= 4096,
      let value = try? JSONValue(reading: Array(data)), let content = try? value.decoded(as: Content.self),
      content.orders.isPlausible, content.reports?.isPlausible ?? true,
      content.clock.map({ (0...FleetPosition.Saved.latestTime).contains($0) }) ?? true
    else { return nil }
    return content
  }

  /// - Throws: an error of the file system.
  func write(_ content: Content) throws {
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try JSONEncoder().encode(content).write(to: URL(fileURLWithPath: path), options: .atomic)
  }
}

extension PositionFile.Content: Codable {
  private enum Keys: CodingKey { case reports, clock }

  init(from decoder: any Decoder) throws {
    orders = try FleetPosition.Saved(from: decoder)
    let container = try decoder.container(keyedBy: Keys.self)
    reports = try container.decodeIfPresent(FleetPosition.Saved.self, forKey: .reports)
    clock = try container.decodeIfPresent(Int64.self, forKey: .clock)
  }

  /// The members of the orders stand beside the others, as in the version before, which reads them.
  func encode(to encoder: any Encoder) throws {
    try orders.encode(to: encoder)
    var container = encoder.container(keyedBy: Keys.self)
    try container.encodeIfPresent(reports, forKey: .reports)
    try container.encodeIfPresent(clock, forKey: .clock)
  }
}
