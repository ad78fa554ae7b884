import Foundation

/// The files in `Fixtures`.
enum Fixture {
  static func text(_ name: String) throws -> String {
    try String(
      contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "Fixtures/\(name)"),
      encoding: .utf8)
  }
}
