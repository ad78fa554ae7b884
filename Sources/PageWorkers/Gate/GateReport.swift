import Foundation
import PageKit

/// The report of the gate about a release.
package struct GateReport: Hashable, Sendable {
  package var release: String
  /// The release that its pages ran beside; `nil` if there was none.
  package var former: String?
  /// The pages that were run, in the order of their names, with their files or URLs.
  package var pages: [GatePageRuns]
  package var findings: [GateFinding]
  package var time: Duration

  package init(
    release: String, former: String?, pages: [GatePageRuns], findings: [GateFinding], time: Duration
  ) {
    (self.release, self.former, self.pages) = (release, former, pages)
    (self.findings, self.time) = (findings, time)
  }

  /// Writes the files below a folder as paths relative to it, also in the findings.
  package mutating func shortenPaths(below folder: String) {
    let start = folder.hasSuffix("/") ? folder : folder + "/"
    for index in pages.indices where pages[index].file.hasPrefix(start) { pages[index].file.removeFirst(start.count) }
    for index in findings.indices {
      findings[index].text = findings[index].text.replacing("(\(start)", with: "(")
    }
  }

  /// `true` if a finding refuses the release.
  package var isRefused: Bool { findings.contains { $0.effect == .refused } }

  /// The findings that refuse the release, as one sentence; `nil` if none does.
  package var refusal: String? {
    let refused = findings.filter { $0.effect == .refused }
    guard let first = refused.first else { return nil }
    let more = refused.count > 1 ? "; and \(refused.count - 1) more" : ""
    return "the gate refuses release \(release): \(first.line)\(more)"
  }

  /// The report as JSON.
  package var json: JSONValue {
    .object([
      "release": .string(release), "former": former.map { .string($0) } ?? .null,
      "pages": .integer(Int64(pages.count)), "refused": .bool(isRefused), "seconds": .number(time.seconds.rounded(3)),
      "findings": .array(
        findings.map { finding in
          .object([
            "effect": .string(finding.effect.rawValue), "page": finding.page.map { .string($0) } ?? .null,
            "rule": .string(finding.rule.rawValue), "text": .string(finding.text),
            "reason": finding.reason.map { .string($0) } ?? .null,
          ])
        }),
    ])
  }

  /// The report in the form of JUnit, as most build servers read it: a test case for each page.
  package var junit: String {
    let byPage = Dictionary(grouping: findings) { $0.page }
    let named = Set(pages.map(\.name))
    var cases = pages.map { (name: $0.name, file: Optional($0.file), findings: byPage[$0.name] ?? []) }
    let others = findings.filter { !($0.page.map(named.contains) ?? false) }
    if !others.isEmpty { cases.append(("release", nil, others)) }
    let failed = cases.count { $0.findings.contains { $0.effect == .refused } }
    let attributes = "tests=\"\(cases.count)\" failures=\"\(failed)\" time=\"\(time.seconds.rounded(3))\""
    var lines = [
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<testsuites \(attributes)>",
      "  <testsuite name=\(Self.quoted("gate of release \(release)")) \(attributes)>",
    ]
    for item in cases {
      let file = item.file.map { " file=\(Self.quoted($0))" } ?? ""
      let head = "    <testcase classname=\"gate\" name=\(Self.quoted(item.name))\(file)"
      guard !item.findings.isEmpty else {
        lines.append(head + "/>")
        continue
      }
      lines.append(head + ">")
      for finding in item.findings where finding.effect == .refused {
        lines.append(
          "      <failure type=\(Self.quoted(finding.rule.rawValue)) message=\(Self.quoted(finding.sentence))/>")
      }
      let told = item.findings.filter { $0.effect != .refused }.map { Self.escaped($0.sentence) + "\n" }
      if !told.isEmpty { lines.append("      <system-out>\(told.joined())</system-out>") }
      lines.append("    </testcase>")
    }
    lines += ["  </testsuite>", "</testsuites>"]
    return lines.joined(separator: "\n") + "\n"
  }

  private static func quoted(_ text: String) -> String { "\"\(escaped(text))\"" }

  /// The text for XML 1.0 §2.2, which has no control characters but white space.
  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "\n", "\t", "\r": escaped += "&#\(scalar.value);"
      case "\u{20}"..."\u{7E}", "\u{A0}"..."\u{D7FF}", "\u{E000}"..."\u{FFFD}", "\u{10000}"..."\u{10FFFF}":
        escaped.unicodeScalars.append(scalar)
      default: escaped += "\u{FFFD}"
      }
    }
    return escaped
  }
}

extension GateFinding {
  /// The finding with the exemption's reason.
  package var sentence: String { text + (reason.map { " (exempt: \($0))" } ?? "") }

  /// The finding with its page.
  package var line: String { page.map { "\($0): \(sentence)" } ?? sentence }
}

extension Double {
  fileprivate func rounded(_ decimals: Int) -> Double {
    let scale = pow(10, Double(decimals))
    return (self * scale).rounded() / scale
  }
}
