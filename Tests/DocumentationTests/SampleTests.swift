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
  /// The modules whose declarations an app sees.
  private static let modules = [
    "Bundles", "CurlTransport", "Blobs", "HTTPCache", "HTTPCacheFoundation", "HTTPCaching", "HTTPTransport",
    "PageKit", "PageLayout", "PagePictures", "PageRuntime", "PageTesting", "Releases", "ScriptEngine",
  ]

  /// The examples in the documentation above public declarations, each with the number of its first line.
  static func examples(of lines: [String]) -> [(line: Int, code: [String])] {
    var found: [(line: Int, code: [String])] = []
    var pending: [(line: Int, code: [String])] = []
    for (index, text) in lines.enumerated() {
      let line = text.drop { $0 == " " }
      if line.hasPrefix("///     ") || line == "///" && pending.last?.line == index - (pending.last?.code.count ?? 0) {
        let code = String(line.dropFirst(8))
        if let last = pending.indices.last, pending[last].line == index - pending[last].code.count {
          pending[last].code.append(code)
        } else if index > 0, lines[index - 1].drop(while: { $0 == " " }) == "///" {
          // Markdown's code has an empty line before it; other indented lines belong to a list.
          pending.append((index, [code]))
        }
      } else if !line.hasPrefix("///"), !line.hasPrefix("@available"), !line.hasPrefix("@discardableResult") {
        if line.contains(/^(@PageActor )?(public|open)\b/) { found += pending }
        pending = []
      }
    }
    return found.map { ($0.line + 1, $0.code) }
  }

  @Test("every example in the documentation of a public declaration is compiled code")
  func everyExampleIsCompiled() throws {
    let samples = try Self.samples()
    var count = 0
    for path in try Self.modules.flatMap({ try Document.paths(in: "Sources/\($0)", ending: ".swift") }) {
      for example in Self.examples(of: try Document(path).lines) {
        count += 1
        let lines = Self.compared(example.code)
        #expect(
          samples.contains { Self.occurs(lines, in: $0) },
          "\(path):\(example.line) is in no file of Tests/DocumentationTests/Samples:\n\(lines.joined(separator: "\n"))"
        )
      }
    }
    #expect(count > 30)
  }

  @Test("examples are found above public declarations, and indented lines of lists are none")
  func finding() {
    let lines = [
      "  /// Loads.", "  ///", "  ///     let a = 1", "  ///", "  ///     print(a)", "  ///",
      "  /// - Parameter b: a number",
      "  ///     of things.", "  public func load() {", "/// Inner.", "///", "///     let c = 2", "func inner() {",
    ]
    let found = Self.examples(of: lines)
    #expect(found.map(\.line) == [3])
    #expect(found.map { Self.compared($0.code) } == [["let a = 1", "", "print(a)"]])
  }
}
