import Foundation
import PageKit

/// The subject of a finding of the gate. The order is that of a page's findings.
package enum GateRule: String, Hashable, Sendable, CaseIterable {
  // These refuse a release.
  case opening
  case stopped
  case notRun
  case exception
  case empty
  case missing
  case bundleBytes
  case bundleBrotli
  case elements
  case depth
  case requests
  case responseBytes
  case commands
  case processorTime
  // These are only shown.
  case page
  case tree
  case request
  case unanswered
  case slower
  case exemption

  /// The rules with a budget.
  package static let budgets: [GateRule] = [
    .bundleBytes, .bundleBrotli, .elements, .depth, .requests, .responseBytes, .commands, .processorTime,
  ]

  /// The rules that refuse a release.
  package static let refusing: [GateRule] = [.opening, .stopped, .notRun, .exception, .empty, .missing] + budgets
}

/// A finding of the gate about a page, or about the release.
package struct GateFinding: Hashable, Sendable {
  package enum Effect: String, Hashable, Sendable {
    case refused
    /// It would be refused, and an exemption lets it pass.
    case exempt
    case shown
  }

  package var effect: Effect
  /// The page's name; `nil` if it is about no page of the release.
  package var page: String?
  package var rule: GateRule
  /// A sentence without its subject, which is the page.
  package var text: String
  /// The reason of the exemption.
  package var reason: String?

  package init(_ effect: Effect, page: String?, _ rule: GateRule, _ text: String, reason: String? = nil) {
    (self.effect, self.page, self.rule, self.text, self.reason) = (effect, page, rule, text, reason)
  }
}

/// Decides from the runs of pages if a release may be published. Pure functions.
package enum GateDecision {
  /// A page is slower if it takes so much more processor time …
  private static let slowerFactor = 1.25
  /// … and at least so much.
  private static let slowerTime: Duration = .milliseconds(5)
  /// The limit of changes that a finding names.
  private static let namesLimit = 8

  /// The findings, sorted by page, rule and text.
  ///
  /// - Parameters:
  ///   - pages: the pages of the new release.
  ///   - gone: the pages that only the release before has.
  ///   - day: today, which exemptions end by.
  package static func findings(
    _ pages: [GatePageRuns], gone: [String] = [], _ settings: GateSettings, on day: GateDay
  ) -> [GateFinding] {
    var findings = pages.flatMap { self.findings($0, settings) }
    findings += gone.map { GateFinding(.shown, page: $0, .page, "is not in the release any more") }
    for index in findings.indices where findings[index].effect == .refused {
      let finding = findings[index]
      let exemption = settings.exemptions.first { $0.covers(finding) && day <= $0.until }
      if let exemption { (findings[index].effect, findings[index].reason) = (.exempt, exemption.reason) }
    }
    findings += settings.exemptions.compactMap { self.finding($0, pages, day) }
    return findings.sorted { key($0) < key($1) }
  }

  private static func key(_ finding: GateFinding) -> (String, Int, String) {
    (finding.page ?? "", GateRule.allCases.firstIndex(of: finding.rule) ?? 0, finding.text)
  }

  /// An exemption that has no effect any more.
  private static func finding(
    _ exemption: GateSettings.Exemption, _ pages: [GatePageRuns], _ day: GateDay
  ) -> GateFinding? {
    let subject = "the exemption of \(exemption.rule?.rawValue ?? "all rules")"
    let page = exemption.page.text
    if day > exemption.until {
      return GateFinding(
        .shown, page: page, .exemption, "\(subject) ended on \(exemption.until) (\(exemption.reason))")
    }
    guard !pages.contains(where: { exemption.page.matches($0.name) }) else { return nil }
    return GateFinding(.shown, page: page, .exemption, "\(subject) is of no page of the release (\(exemption.reason))")
  }

  private static func findings(_ page: GatePageRuns, _ settings: GateSettings) -> [GateFinding] {
    let (run, former) = (page.new, page.former)
    var findings: [GateFinding] = []
    func add(_ effect: GateFinding.Effect, _ rule: GateRule, _ text: String) {
      findings.append(GateFinding(effect, page: page.name, rule, text))
    }
    switch run.outcome {
    case .rendered: break
    case .empty: add(.refused, .empty, "has created no body, so that it shows nothing")
    // The exception says it too.
    case .failed(let reason): if run.exceptions.isEmpty { add(.refused, .opening, "could not open: \(reason)") }
    case .stopped(let reason): add(.refused, .stopped, "was stopped: \(reason)")
    case .notRun: add(.refused, .notRun, "was not run: the time of the gate was over")
    }
    for exception in run.exceptions {
      let isKnown = former?.exceptions.contains { $0.message == exception.message } ?? false
      let place = exception.place.map { " (\($0))" } ?? ""
      add(
        isKnown ? .shown : .refused, .exception,
        "threw \(exception.message)\(place)\(isKnown ? ", as in the release before" : "")")
    }
    for part in run.missing where !settings.registers(part) {
      let isKnown = former?.missing.contains(part) ?? false
      add(isKnown ? .shown : .refused, .missing, "\(part)\(isKnown ? ", as in the release before" : "")")
    }
    let budgets = settings.budgets(of: page.name)
    for rule in GateRule.budgets {
      guard let budget = budgets[rule], let value = run.value(of: rule), value > budget else { continue }
      add(.refused, rule, rule.sentence(value, budget))
    }
    if !run.unanswered.isEmpty {
      add(.shown, .unanswered, "asked for what has no recorded answer: \(names(run.unanswered.sorted()))")
    }
    if let former, former.outcome != .notRun, run.outcome != .notRun { compare(run, former, add) }
    return findings
  }

  /// The differences that are shown.
  private static func compare(
    _ run: GateRun, _ former: GateRun, _ add: (GateFinding.Effect, GateRule, String) -> Void
  ) {
    let new = run.asked.subtracting(former.asked)
    if !new.isEmpty { add(.shown, .request, "has new requests: \(names(new.sorted()))") }
    let changes = Set(run.kinds.keys).union(former.kinds.keys).compactMap { kind -> (count: Int, kind: String)? in
      let change = (run.kinds[kind] ?? 0) - (former.kinds[kind] ?? 0)
      return change == 0 ? nil : (change, kind)
    }.sorted { (abs($1.count), $0.kind) < (abs($0.count), $1.kind) }
    for (verb, part) in [
      ("has more elements", changes.filter { $0.count > 0 }), ("has fewer elements", changes.filter { $0.count < 0 }),
    ] where !part.isEmpty {
      add(.shown, .tree, "\(verb): \(names(part.map { "\(abs($0.count)) \($0.kind)" }))")
    }
    guard isSlower(run, than: former), let time = run.processorTime, let before = former.processorTime else { return }
    add(
      .shown, .slower,
      "took \(time.milliseconds) ms of processor time, and \(before.milliseconds) ms in the release before")
  }

  /// Returns `true` if a page takes so much more time than before that it is shown.
  static func isSlower(_ run: GateRun, than former: GateRun?) -> Bool {
    guard run.outcome == .rendered, former?.outcome == .rendered, let time = run.processorTime,
      let before = former?.processorTime
    else { return false }
    return time.seconds > before.seconds * slowerFactor && time - before >= slowerTime
  }

  /// Returns `true` if a page exceeds its budget of time.
  static func isSlow(_ run: GateRun, _ budgets: [GateRule: Int64]) -> Bool {
    guard let budget = budgets[.processorTime], let time = run.value(of: .processorTime) else { return false }
    return time > budget
  }

  private static func names(_ names: [String]) -> String {
    let more = names.count - namesLimit
    return names.prefix(namesLimit).joined(separator: ", ") + (more > 0 ? ", and \(more) more" : "")
  }
}

extension GateRule {
  fileprivate func sentence(_ value: Int64, _ budget: Int64) -> String {
    let subject =
      switch self {
      case .bundleBytes: "the bundle has \(value) bytes"
      case .bundleBrotli: "the bundle has \(value) bytes with the coding br"
      case .elements: "has \(value) elements"
      case .depth: "has \(value) levels of elements"
      case .requests: "made \(value) requests"
      case .responseBytes: "got \(value) bytes of responses"
      case .commands: "changed the tree \(value) times"
      case .processorTime: "took \(value) ms of processor time"
      default: "has \(value)"
      }
    return "\(subject), and the budget is \(budget)\(self == .processorTime ? " ms" : "")"
  }
}

/// A day, written as `2026-12-31`.
package struct GateDay: Hashable, Comparable, Sendable, CustomStringConvertible {
  package let description: String

  /// - Returns: `nil` if the text is not a day of the calendar.
  package init?(_ text: String) {
    guard let parts = text.wholeMatch(of: /([1-9][0-9]{3})-([0-9]{2})-([0-9]{2})/),
      let year = Int(parts.1), let month = Int(parts.2), let day = Int(parts.3)
    else { return nil }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    guard DateComponents(calendar: calendar, year: year, month: month, day: day).isValidDate else { return nil }
    description = text
  }

  /// The day of a time in UTC.
  package init(_ time: Date) {
    description = time.formatted(.iso8601.year().month().day().dateSeparator(.dash))
  }

  package static func < (left: GateDay, right: GateDay) -> Bool { left.description < right.description }
}
