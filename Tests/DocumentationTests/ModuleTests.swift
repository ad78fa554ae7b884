import Testing

@testable import PageRuntime

/// "Handlers and modules" names the built-in modules and components as they are registered.
struct ModuleTests {
  private static func article() throws -> Document { try Document("\(Document.articles)/HandlersAndModules.md") }

  /// The lines of a section, without its title.
  private static func section(_ title: String, of article: Document) -> [String] {
    let start = article.lines.drop { $0 != "## \(title)" }.dropFirst()
    return Array(start.prefix { !$0.hasPrefix("## ") })
  }

  /// The texts in code voice.
  private static func codes(in text: some StringProtocol) -> [String] {
    String(text).matches(of: /`([^`]+)`/).map { String($0.1) }
  }

  /// The first cell of a table's row; `nil` for other lines.
  private static func firstCell(_ line: String) -> Substring? {
    line.hasPrefix("|") ? line.dropFirst().prefix { $0 != "|" } : nil
  }

  /// Every `module.method` of the tables. A name without a dot belongs to the module before it in its cell, or to that of
  /// the section's title.
  private static func namedMethods() throws -> Set<String> {
    var methods: Set<String> = []
    var titled = ""
    for line in section("Built-in modules", of: try article()) {
      if line.hasPrefix("### ") { titled = String(line.dropFirst(4)) }
      guard let cell = firstCell(line) else { continue }
      var module = titled
      for code in codes(in: cell) {
        let parts = code.split(separator: ".").map(String.init)
        if parts.count == 2 { module = parts[0] }
        methods.insert("\(module).\(parts.last ?? "")")
      }
    }
    return methods
  }

  @Test("the article names every method of the built-in modules, and no other")
  func moduleMethods() throws {
    let table = ModuleTable.builtIn
    let registered = Set(table.modules.flatMap { module, methods in methods.keys.map { "\(module).\($0)" } })
    let named = try Self.namedMethods()
    // These are named once for all modules.
    let common = Set(table.modules.keys.flatMap { module in ModuleTable.common.map { "\(module).\($0)" } })
    for method in ModuleTable.common {
      #expect(try Self.article().lines.contains { $0.contains("Every module here has") && $0.contains("`\(method)`") })
    }
    #expect(registered.subtracting(named).subtracting(common).isEmpty, "not in the article")
    #expect(named.subtracting(registered).isEmpty, "in the article only")
  }

  @Test("the article names every built-in component and its methods")
  func components() throws {
    let lines = Self.section("Built-in components", of: try Self.article())
    let types = Set(Self.codes(in: lines.joined(separator: "\n")))
    #expect(ComponentTable.typesKnown.subtracting(types).isEmpty, "not in the article")
    for (type, methods) in ComponentTable.builtIn.methods {
      let row = lines.first { Self.codes(in: Self.firstCell($0) ?? "").contains(type) } ?? ""
      for method in methods.keys {
        #expect(row.contains("`\(method)(") || row.contains("`\(method)`"), "\(type).\(method)")
      }
    }
  }
}
