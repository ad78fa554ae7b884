import Foundation
import Testing

/// `SECURITY.md` names a test for each promise.
struct SecurityDocumentTests {
  private static let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../..").standardizedFileURL

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  /// The files with tests, as bytes: searching them as texts takes five times as long.
  private static func tests() throws -> [Data] {
    let files = FileManager.default.enumerator(atPath: root.appendingPathComponent("Tests").path)
    return try (files ?? .init()).compactMap { $0 as? String }.filter { $0.hasSuffix("Tests.swift") }.map {
      try Data(contentsOf: root.appendingPathComponent("Tests/\($0)"))
    }
  }

  @Test("every test that SECURITY.md names exists")
  func namedTests() throws {
    let named = try Self.text("SECURITY.md").matches(of: /`([A-Za-z0-9]+Tests)\.([A-Za-z0-9]+)`/)
    #expect(named.count > 80)
    let files = try Self.tests()
    for (suite, tests) in Dictionary(grouping: named, by: \.1) {
      let declaring = files.filter { file in
        ["struct", "class", "extension"].contains { file.range(of: Data("\($0) \(suite) ".utf8)) != nil }
      }
      for test in tests {
        let isThere = declaring.contains { $0.range(of: Data("func \(test.2)(".utf8)) != nil }
        #expect(isThere, "\(suite).\(test.2)")
      }
    }
  }
}
