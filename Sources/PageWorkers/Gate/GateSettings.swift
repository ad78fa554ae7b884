import Blobs
import Foundation
import PageKit

/// The effect of findings that refuse a release.
package enum GateMode: String, Hashable, Sendable, CaseIterable {
  /// The release is published, and the findings are shown.
  case warn
  /// The release is not published.
  case fail
}

/// The settings of the gate: the file `gate.json` beside the manifest.
///
///     {
///       "budgets": {"bundleBrotli": 16000, "elements": 400, "processorTime": "40ms"},
///       "pages": {"catalogue": {"elements": 2500}},
///       "exemptions": [
///         {"page": "old/*", "rule": "exception", "reason": "goes with the sale", "until": "2026-12-31"}
///       ],
///       "leaveOut": ["lib/*"], "registered": ["cart"], "answers": ".answers", "time": "120s", "pageTime": "5s"
///     }
package struct GateSettings: Hashable, Sendable {
  /// Names of pages: one name, or all that begin with the text before a `*`.
  package struct Pattern: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    func matches(_ name: String) -> Bool {
      text.hasSuffix("*") ? name.hasPrefix(text.dropLast()) : name == text
    }
  }

  /// Lets a page pass until a day although it would be refused.
  package struct Exemption: Hashable, Sendable {
    package var page: Pattern
    /// `nil` for all rules.
    package var rule: GateRule?
    package var reason: String
    /// The last day.
    package var until: GateDay

    package init(page: Pattern, rule: GateRule? = nil, reason: String, until: GateDay) {
      (self.page, self.rule, self.reason, self.until) = (page, rule, reason, until)
    }

    func covers(_ finding: GateFinding) -> Bool {
      finding.page.map(page.matches) == true && (rule == nil || rule == finding.rule)
    }
  }

  /// The file's name.
  package static let fileName = "gate.json"
  private static let byteLimit: Int64 = 1 << 20
  private static let listLimit = 1_000
  /// The largest budget.
  private static let largest: Int64 = 1 << 40

  /// The budgets of all pages; those of processor time in milliseconds.
  package var budgets: [GateRule: Int64] = [:]
  /// The other budgets of single pages, by their names.
  package var pages: [String: [GateRule: Int64]] = [:]
  package var exemptions: [Exemption] = []
  /// Bundles that are no pages, and are not run.
  package var leftOut: [Pattern] = []
  /// The names of modules and components that the apps of the pages register. Pages find such modules, which do nothing.
  package var registered: Set<String> = []
  /// The folder of recorded answers, relative to the file's; `nil` for none.
  package var answers: String?
  /// The time limit of all pages together.
  package var time: Duration = .seconds(120)
  /// The time limit of one entry into a script.
  package var pageTime: Duration = .seconds(5)

  package init() {}

  /// Reads `gate.json` in a folder; there are no budgets and exemptions without it.
  ///
  /// - Throws: ``DescribedError`` with the file, the line and the column.
  package init(in folder: String) throws {
    let path = folder.isEmpty ? Self.fileName : "\(folder)/\(Self.fileName)"
    let bytes: [UInt8]
    do {
      bytes = try RegularFile.contents(of: path, upTo: Self.byteLimit)
    } catch RegularFileError.absent {
      self.init()
      return
    } catch {
      throw DescribedError("\(path) cannot be read: \(error.sentence)")
    }
    try self.init(reading: bytes, named: path)
  }

  /// - Parameter name: the file's name in messages.
  /// - Throws: ``DescribedError`` with the file, the line and the column.
  package init(reading bytes: [UInt8], named name: String = fileName) throws {
    let file = try PlacedJSON(bytes, named: name).object([
      "answers", "budgets", "exemptions", "leaveOut", "pages", "pageTime", "registered", "time",
    ])
    if let budgets = file["budgets"] { self.budgets = try Self.budgets(budgets) }
    for (name, budgets) in try file["pages"]?.entries() ?? [] { pages[name] = try Self.budgets(budgets) }
    exemptions = try (file["exemptions"]?.list(upTo: Self.listLimit) ?? []).map { try Self.exemption($0) }
    leftOut = try (file["leaveOut"]?.list(upTo: Self.listLimit) ?? []).map { Pattern(try $0.text()) }
    registered = Set(try (file["registered"]?.list(upTo: Self.listLimit) ?? []).map { try $0.text() })
    answers = try file["answers"]?.text()
    if let time = file["time"] { self.time = try time.time(in: .seconds(1)...(.seconds(3_600))) }
    if let time = file["pageTime"] { pageTime = try time.time(in: .milliseconds(10)...(.seconds(60))) }
  }

  private static func budgets(_ object: PlacedJSON) throws -> [GateRule: Int64] {
    var budgets: [GateRule: Int64] = [:]
    for (name, value) in try object.entries(GateRule.budgets.map(\.rawValue)) {
      guard let rule = GateRule(rawValue: name) else { continue }
      budgets[rule] =
        rule == .processorTime
        ? Int64(clamping: try value.time(in: .milliseconds(1)...(.seconds(60))).milliseconds)
        : try value.count(in: 0...largest)
    }
    return budgets
  }

  private static func exemption(_ element: PlacedJSON) throws -> Exemption {
    let members = try element.object(["page", "reason", "rule", "until"])
    func member(_ name: String) throws -> PlacedJSON {
      guard let value = members[name] else { throw element.fault("the exemption has no \(name.quotedForMessage)") }
      return value
    }
    let until = try member("until")
    guard case .string(let text) = until.value, let day = GateDay(text) else {
      throw until.fault(expected: "a day, such as \"2026-12-31\"")
    }
    var rule: GateRule?
    if let named = members["rule"] {
      rule = GateRule.refusing.first { .string($0.rawValue) == named.value }
      if rule == nil {
        throw named.fault(expected: "one of \(GateRule.refusing.map(\.rawValue).joined(separator: ", "))")
      }
    }
    return Exemption(
      page: Pattern(try member("page").text()), rule: rule, reason: try member("reason").text(upTo: 500), until: day)
  }

  /// The budgets of a page.
  package func budgets(of page: String) -> [GateRule: Int64] {
    budgets.merging(pages[page] ?? [:]) { _, own in own }
  }

  /// Returns `false` for a bundle that is not run.
  package func runs(_ page: String) -> Bool { !leftOut.contains { $0.matches(page) } }

  /// Returns `true` for a part that the apps of the pages register.
  func registers(_ part: MissingPart) -> Bool {
    switch part {
    case .component(let name), .module(let name), .method(of: let name, _): registered.contains(name)
    }
  }
}
