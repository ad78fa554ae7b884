import Foundation
import HTTPTransport
import Testing

@testable import CacheGateway
@testable import RenderHost
@testable import ServerKit

/// Compares the articles with the table of settings, and with the keys of the origins' file.
struct SettingsDocumentTests {
  private static let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../..").standardizedFileURL
  private static let articles = "Sources/PageKit/Documentation.docc"
  /// Options that are not settings.
  private static let others: Set<String> = ["--config", "--check-config", "--version", "--help"]

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  /// The text with a single space for each run of white space.
  private static func joined(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  @Test("the command reference has every setting with its help, and no other option")
  func commandReference() throws {
    let page = try Self.text("\(Self.articles)/Commands/renderhost.md")
    // Options in a text are marked as code, and quotes are escaped.
    let words = Self.joined(page.replacing("`", with: "").replacing("\\", with: ""))
    for setting in Settings.table {
      #expect(words.contains(Self.joined(setting.help)), "\(setting.key.flag)")
      #expect(words.contains(Self.joined(setting.discussion)) || setting.discussion.isEmpty, "\(setting.key.flag)")
    }
    let options = page.matches(of: /\n- `(?:-h, )?(--[a-z-]+)/).map { String($0.1) }
    #expect(Set(options) == Set(Settings.table.map(\.key.flag)).union(Self.others))
    #expect(options.count == Set(options).count)
  }

  @Test(
    "an article about renderhost names only options that exist",
    arguments: ["OperatingRenderhost.md", "OperatingTheGateway.md", "Installing.md"])
  func articles(_ name: String) throws {
    let known = Set(Settings.table.map(\.key.flag)).union(Self.others)
    // Options of other programs, and of the worker's own command.
    let foreign: Set<String> = ["--shared", "--check", "--now", "--no-install-recommends", "--build-arg"]
    let options = try Self.text("\(Self.articles)/\(name)").matches(of: /--[a-z][a-z-]+/).map { String($0.0) }
    #expect(!options.isEmpty)
    #expect(Set(options).subtracting(known).subtracting(foreign).isEmpty)
  }

  @Test("the table of an origin's keys has every key of the file, and no other")
  func keysOfOrigins() throws {
    let article = try Self.text("\(Self.articles)/OperatingTheGateway.md")
    let table = try #require(article.components(separatedBy: "| key | default | meaning |").dropFirst().first)
    let rows = table.split(separator: "\n").drop { !$0.hasPrefix("| `") }.prefix { $0.hasPrefix("| `") }
    let named = rows.flatMap { row in
      row.split(separator: "|").first?.matches(of: /`([a-z-]+)`/).map { String($0.1) } ?? []
    }
    #expect(Set(named).count == named.count && named.count > 20)
    for key in named {
      let members: [String: JSONValue] = ["name": .string("a"), "url": .string("http://a.example")]
      let origin = JSONValue.object(members.merging([key: .bool(true)]) { _, new in new })
      let error = #expect(throws: SettingsError.self, "\(key)") {
        try OriginsFile.origins(in: [origin], path: "/etc/c.json")
      }
      if case .unknownKey = error { Issue.record("\(key) is not a key of an origin") }
    }
    let source = try Self.text("Sources/CacheGateway/GatewaySettings.swift")
    let read = source.matches(of: /object\.(?:take|texts?|list)\("([a-z-]+)"/).map { String($0.1) }
    let explained = Set(table.matches(of: /`([a-z-]+)`/).map { String($0.1) })
    // The pattern of a rule is in the row of the rules.
    #expect(Set(read).subtracting(explained).isEmpty)
    #expect(Set(named).isSubset(of: Set(read)))
  }
}
