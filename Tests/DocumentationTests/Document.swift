import Foundation
import Testing

/// A text of the documentation: the README, an article, or another Markdown file at the root.
struct Document: Sendable, CustomTestStringConvertible {
  /// From the repository's root.
  let path: String
  let lines: [String]

  var testDescription: String { path }

  static let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../..").standardizedFileURL
  static let articles = "Sources/PageKit/Documentation.docc"

  init(_ path: String) throws {
    self.path = path
    lines = try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// Files of a folder with an ending, with those of folders in it, in order.
  static func paths(in folder: String, ending: String) throws -> [String] {
    let files = FileManager.default.enumerator(atPath: root.appendingPathComponent(folder).path)
    return (files ?? .init()).compactMap { $0 as? String }.filter { $0.hasSuffix(ending) }.sorted()
      .map { "\(folder)/\($0)" }
  }

  /// The README, the other texts beside it, the decisions and the articles.
  static func all() throws -> [Document] {
    let beside = try FileManager.default.contentsOfDirectory(atPath: root.path).filter { $0.hasSuffix(".md") }.sorted()
    return try (beside + paths(in: "decisions", ending: ".md") + paths(in: articles, ending: ".md")).map(Document.init)
  }

  /// A block of code, without the lines that mark it.
  struct Block: Sendable {
    let language: String
    /// The number of its first line, from 1.
    let line: Int
    let lines: [String]
  }

  var blocks: [Block] {
    var blocks: [Block] = []
    var open: (language: String, line: Int, lines: [String])?
    for (index, line) in lines.enumerated() {
      if line.hasPrefix("```") {
        if let block = open {
          blocks.append(Block(language: block.language, line: block.line, lines: block.lines))
          open = nil
        } else {
          open = (String(line.dropFirst(3)), index + 2, [])
        }
      } else {
        open?.lines.append(line)
      }
    }
    return blocks
  }

  /// The text without its blocks of code, nor code inside of lines.
  var prose: String {
    var isCode = false
    let kept = lines.filter { line in
      if line.hasPrefix("```") { isCode.toggle() }
      return !isCode
    }
    return kept.joined(separator: "\n").replacing(/`[^`\n]*`/, with: "")
  }
}
