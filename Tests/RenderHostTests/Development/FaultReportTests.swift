import PageKit
import Testing

@testable import RenderHost

/// Errors as the author of a page sees them.
struct FaultReportTests {
  private static let location = "http://127.0.0.1:8090/bundles/shop/home.js"

  private func report(line: Int?, column: Int? = 1, in source: String?, stack: String? = nil) -> FaultReport {
    FaultReport(
      ScriptException(message: "m", url: Self.location, line: line, column: column, stack: stack), at: Self.location,
      in: source, through: nil)
  }

  @Test(
    "the lines around the error's are shown, as far as there are any",
    arguments: [
      (1, [1, 2, 3]), (3, [1, 2, 3, 4, 5]), (6, [4, 5, 6]), (7, [5, 6]), (100, []), (Int.max, []), (0, [1, 2, 3]),
    ])
  func lines(line: Int, numbers: [Int]) {
    #expect(report(line: line, in: "a\nb\nc\nd\ne\nf").lines.map(\.number) == numbers)
  }

  @Test("a place without the address that all have in common, and calls in the same way")
  func place() {
    let found = report(
      line: 2, column: 7, in: "a\nb", stack: "f@\(Self.location):2:7\nglobal code@\(Self.location):9:1")
    #expect(found.place == "shop/home.js:2:7")
    #expect(found.stack == ["f@shop/home.js:2:7", "global code@shop/home.js:9:1"])
    #expect(report(line: nil, in: "a").place == nil && report(line: 1, in: nil).lines.isEmpty)
  }

  @Test("of a long line the part at the error is shown", arguments: [1, 5_000, 10_000, 99_999, Int.max])
  func longLine(column: Int) throws {
    let text = try #require(
      report(line: 1, column: column, in: String(repeating: "x", count: 10_000)).lines.first
    ).text
    #expect(text.count <= 202)
  }
}
