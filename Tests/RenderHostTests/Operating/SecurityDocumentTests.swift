import Foundation
import Testing

/// `SECURITY.md` names a test for each promise.
struct SecurityDocumentTests {
  private static let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../..").standardizedFileURL

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  private static func tests() throws -> [String] {
    let files = FileManager.default.enumerator(atPath: root.appendingPathComponent("Tests").path)
    return try (files ?? .init()).compactMap { $0 as? String }.filter { $0.hasSuffix("Tests.swift") }.map {
      try text("Tests/\($0)")
    }
  }

  @Test("every test that SECURITY.md names exists")
  func namedTests() throws {
    let named = try Self.text("SECURITY.md").matches(of: /`([A-Za-z0-9]+Tests)\.([A-Za-z0-9]+)`/)
    #expect(named.count > 80)
    let texts = try Self.tests()
    for (suite, tests) in Dictionary(grouping: named, by: \.1) {
      let declaring = texts.filter { text in
        ["struct", "class", "extension"].contains { text.contains("\($0) \(suite) ") }
      }
      for test in tests {
        #expect(declaring.contains { $0.contains("func \(test.2)(") }, "\(suite).\(test.2)")
      }
    }
  }
}
