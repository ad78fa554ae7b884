import Testing

/// The Swift code in the README and the articles is code of `Samples`, which is compiled with this target.
struct SampleTests {
  /// Lines as they are compared: without indentation, and without blank lines at either end.
  private static func compared(_ lines: some Sequence<String>) -> [String] {
    let trimmed = lines.map { line in String(line.drop { $0 == " " }) }
    return Array(trimmed.drop { $0.isEmpty }.reversed().drop { $0.isEmpty }.reversed())
  }

  private static func samples() throws -> [[String]] {
    try Document.paths(in: "Tests/DocumentationTests/Samples", ending: ".swift").map {
      compared(try Document($0).lines)
    }
  }

  /// A part of a package's manifest, which needs another compiler than a sample.
  private static func isManifest(_ block: Document.Block) -> Bool {
    block.lines.contains {
      $0.contains(".package(") || $0.hasPrefix("// swift-tools-version") || $0.contains(".product(")
    }
  }

  private static func occurs(_ block: [String], in sample: [String]) -> Bool {
    let imports = block.filter { $0.hasPrefix("import ") }
    // A sample's imports are at its top, and not where the rest of the block is.
    let rest = compared(block.filter { !$0.hasPrefix("import ") })
    guard Set(imports).isSubset(of: sample), rest.count <= sample.count else { return false }
    return sample.indices.dropLast(max(0, rest.count - 1)).contains { sample[$0...].starts(with: rest) }
  }

  @Test("every Swift block in the documentation is compiled code", arguments: try Document.all())
  func everyBlockIsCompiled(_ document: Document) throws {
    let samples = try Self.samples()
    for block in document.blocks where block.language == "swift" && !Self.isManifest(block) {
      let lines = Self.compared(block.lines)
      #expect(
        samples.contains { Self.occurs(lines, in: $0) },
        "\(document.path):\(block.line) is in no file of Tests/DocumentationTests/Samples:\n\(block.lines.joined(separator: "\n"))"
      )
    }
  }

  @Test("the README and the articles have Swift blocks")
  func thereAreBlocks() throws {
    let count = try Document.all().flatMap(\.blocks).count { $0.language == "swift" }
    #expect(count > 20)
  }
}
