import Foundation
import Testing

/// Links in the README, the texts beside it and the articles lead somewhere.
struct LinkTests {
  /// The name by which a title is linked to, as GitHub makes it.
  private static func anchor(_ title: String) -> String {
    String(title.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }.map { $0 == " " ? "-" : $0 })
  }

  private static func anchors(in path: String) throws -> Set<String> {
    let titles = try Document(path).lines.filter { $0.hasPrefix("#") }
    return Set(titles.map { title in anchor(String(title.drop { $0 == "#" }.dropFirst())) })
  }

  @Test("every relative link leads to a file and a title that exist", arguments: try Document.all())
  func everyRelativeLinkExists(_ document: Document) throws {
    let folder = Document.root.appendingPathComponent(document.path).deletingLastPathComponent()
    for link in document.prose.matches(of: /\]\(([^)\s]+)\)/).map({ String($0.1) }) {
      if link.contains("://") || link.hasPrefix("mailto:") { continue }
      // An article's picture is named without its folder and its ending.
      if document.path.hasPrefix(Document.articles), !link.contains("/"), !link.contains(".") {
        let pictures = try [".svg", ".png"].flatMap { ending in
          try Document.paths(in: "\(Document.articles)/Resources", ending: ending)
        }
        #expect(
          pictures.contains { $0.hasSuffix("/\(link).svg") || $0.hasSuffix("/\(link).png") },
          "\(document.path): no picture \(link)")
        continue
      }
      let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let target =
        parts[0].isEmpty ? Document.root.appendingPathComponent(document.path) : folder.appendingPathComponent(parts[0])
      let exists = FileManager.default.fileExists(atPath: target.standardizedFileURL.path)
      #expect(exists, "\(document.path): \(link) leads nowhere")
      guard exists, parts.count > 1 else { continue }
      let path = String(target.standardizedFileURL.path.dropFirst(Document.root.path.count + 1))
      #expect(try Self.anchors(in: path).contains(parts[1]), "\(document.path): \(link) names no title of \(path)")
    }
  }

  @Test("every link to an article leads to one", arguments: try Document.all())
  func everyArticleExists(_ document: Document) throws {
    let names = Set(
      try Document.paths(in: Document.articles, ending: ".md").map {
        URL(fileURLWithPath: $0).deletingPathExtension().lastPathComponent
      })
    for name in document.prose.matches(of: /<doc:([^>]*)>/).map({ String($0.1) }) {
      #expect(names.contains(name), "\(document.path): <doc:\(name)> is no article")
    }
  }

  @Test("every article is in the topics of the first page, or of an article that is")
  func everyArticleIsListed() throws {
    var listed: Set<String> = ["PageKit"]
    var waiting = ["PageKit"]
    let paths = Dictionary(
      uniqueKeysWithValues: try Document.paths(in: Document.articles, ending: ".md").map {
        (URL(fileURLWithPath: $0).deletingPathExtension().lastPathComponent, $0)
      })
    while let name = waiting.popLast() {
      let path = try #require(paths[name], "there is no article \(name)")
      let topics = try Document(path).prose.components(separatedBy: "\n## Topics\n").dropFirst().joined()
      let links = topics.matches(of: /<doc:([^>]*)>|\]\((?:\w+\/)?([\w-]+)\.md\)/).map { String($0.1 ?? $0.2 ?? "") }
      waiting += links.filter { listed.insert($0).inserted }
    }
    for (name, path) in paths { #expect(listed.contains(name), "no topics list \(path)") }
  }

  /// A cell of the article about benchmarks: the name of its row, and the heading of its column.
  private typealias Cell = (row: String, column: String)

  /// Where the article has the figures of the README's rows whose names are other ones there.
  private static let cells: [String: (own: Cell, other: Cell)] = [
    "open a page whose bundle ran before": (("hot: the bundle ran before", "time"), ("cold", "time")),
    "1 KiB from the gateway, one core": (("hits of 1 KiB", "renderhost"), ("hits of 1 KiB", "nginx")),
  ]

  /// The cells of a table's line.
  private static func cells(_ line: String) -> [String] {
    line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
  }

  /// The first figure of a text, without commas.
  private static func figure(_ text: String?) -> String? {
    text?.firstMatch(of: /[\d.,]+(?: ms| µs|\/s)/).map { $0.0.filter { $0 != "," } }
  }

  @Test("the README's figures are those of the article about benchmarks, row by row")
  func figures() throws {
    let table = try #require(
      try Document("README.md").lines.joined(separator: "\n").firstMatch(of: /## Measured\n\n((?:\|.*\n)+)/))
    var values: [String: String] = [:]
    var headings: [String] = []
    for line in try Document("\(Document.articles)/Benchmarks.md").lines {
      guard line.hasPrefix("|") else {
        headings = []
        continue
      }
      let cells = Self.cells(line)
      if headings.isEmpty { headings = cells }
      for (heading, cell) in zip(headings, cells).dropFirst() where values["\(cells[0]) | \(heading)"] == nil {
        values["\(cells[0]) | \(heading)"] = cell
      }
    }
    // Behind the headings and the line below them.
    let rows = table.1.split(separator: "\n").dropFirst(2).map { Self.cells(String($0)) }
    #expect(rows.count >= 5)
    for row in rows {
      try #require(row.count == 3, "\(row)")
      let (own, other) = Self.cells[row[0]] ?? ((row[0], "PageKit"), (row[0], "beside it"))
      for (text, cell) in [(row[1], own), (row[2], other)] {
        let figure = try #require(Self.figure(text), "\(row[0]): \(text)")
        #expect(figure == Self.figure(values["\(cell.row) | \(cell.column)"]), "\(row[0]): \(text)")
      }
    }
  }

  @Test("every source file that the decisions name exists")
  func everyNamedFileExists() throws {
    let sources = Set(
      try Document.paths(in: "Sources", ending: ".swift").map { URL(fileURLWithPath: $0).lastPathComponent })
    for document in try Document.all() where document.path.hasPrefix("decisions/") {
      for name in document.lines.joined(separator: "\n").matches(of: /`(?:[A-Za-z]+\/)*([A-Za-z+]+\.swift)`/).map(\.1) {
        #expect(sources.contains(String(name)), "\(document.path): there is no \(name)")
      }
    }
  }

  @Test("every module, folder, file and declaration that Architecture.md names exists")
  func everyNamedPlaceExists() throws {
    let paths = try Document.paths(in: "Sources", ending: "")
    let document = try Document("Architecture.md")
    let blocks = Set(document.blocks.flatMap(\.lines))
    let text = document.lines.filter { !blocks.contains($0) }.joined(separator: "\n")
    let names = text.matches(of: /`((?:[A-Za-z]+\/)*[A-Z]\w*(?:\+\w+)?)(?:\.(\w+))?`/)
    #expect(names.count > 200)
    for name in names {
      let found = paths.filter { $0.hasSuffix("/\(name.1)") || $0.hasSuffix("/\(name.1).swift") }
      #expect(!found.isEmpty, "there is no \(name.1)")
      guard let member = name.2, !paths.contains(where: { $0.hasSuffix("/\(name.1).\(member)") }) else { continue }
      let declaration = try Regex("(?:func|struct|class|enum|actor|protocol|typealias|var|let|case) \(member)\\b")
      let isDeclared = try found.contains { path in
        try path.hasSuffix(".swift") && Document(path).lines.contains { $0.contains(declaration) }
      }
      #expect(isDeclared, "\(name.1) declares no \(member)")
    }
  }
}
