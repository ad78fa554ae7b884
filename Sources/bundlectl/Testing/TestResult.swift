import Foundation
import PageKit

/// The result of a test.
struct TestResult: Hashable, Sendable {
  /// The path of the test file, from the working directory if it is in it.
  var file: String
  /// The number of steps that have run.
  var steps = 0
  var failures: [Failure] = []
  /// The paths of snapshots that were written, and those that were changed.
  var written: [String] = []
  var updated: [String] = []
  /// The lines of the page, and its requests without an answer: shown if the test failed.
  var notes: [String] = []
  /// The time that the test took, which differs from run to run.
  var time = Duration.zero

  /// The path without the ending of test files.
  var name: String { file.hasSuffix(PageTest.suffix) ? String(file.dropLast(PageTest.suffix.count)) : file }
  var hasPassed: Bool { failures.isEmpty }

  struct Failure: Hashable, Sendable {
    /// The place in the test file.
    var place: TextPlace
    /// The step, such as `tap text=Add`; what failed, if it was none.
    var subject: String
    /// A sentence.
    var message: String
    /// The difference of a snapshot.
    var difference: OutlineDifference?
    /// The place of the error of a script in a file, as the user would name it.
    var source: Source?
    /// `true` if the test could not run: its file is wrong, or there is no process for its page.
    var isError = false
  }

  /// A place in a source of a page.
  struct Source: Hashable, Sendable {
    var file: String
    var line: Int
    var column: Int?
  }
}

/// The results of a run.
struct TestReport: Sendable {
  /// The lines of a difference that are shown.
  static let differenceLimit = 200

  /// In the order of their files.
  var results: [TestResult]
  /// The snapshots that no step takes.
  var obsolete: [String] = []
  var mode = SnapshotMode.local
  /// `true` if the reports have the times of tests, which differ from run to run.
  var hasTimes = false

  var failed: Int { results.count { !$0.hasPassed } }
  /// `true` if a test failed, or an obsolete snapshot is in the way.
  var hasFailed: Bool { failed > 0 || mode == .ci && !obsolete.isEmpty }

  /// The sentence about an obsolete snapshot.
  static func text(ofObsolete file: String) -> String {
    "\(file) is a snapshot that no step takes: remove it with --update"
  }
}

extension TestResult.Failure {
  /// The message with the difference, cut to a number of lines.
  func text(differenceLimit limit: Int = TestReport.differenceLimit) -> String {
    let parts = [message, source.map { "at \($0)" }, difference?.text(limit: limit)]
    return parts.compactMap(\.self).joined(separator: "\n")
  }
}

extension TestResult.Source: CustomStringConvertible {
  var description: String { "\(file):\(line)" + (column.map { ":\($0)" } ?? "") }
}

// MARK: - For people

extension TestReport {
  /// The line of a test, and what failed in it.
  ///
  /// - Parameters:
  ///   - terminal: decides about colours.
  ///   - limit: the lines of a difference that are shown.
  func lines(of result: TestResult, on terminal: Terminal?, differenceLimit limit: Int = differenceLimit) -> [String] {
    func styled(_ text: String, _ style: Terminal.Style) -> String { terminal?.styled(text, style) ?? text }
    let mark = result.hasPassed ? styled("✓", .green) : styled("✗", .red)
    let time = hasTimes ? ", \(result.time.milliseconds) ms" : ""
    var lines = ["\(mark) \(styled(result.name, .bold)) (\(Formatting.count(result.steps, "step"))\(time))"]
    lines += result.written.map { "  new snapshot: \($0)" } + result.updated.map { "  changed snapshot: \($0)" }
    for failure in result.failures {
      lines.append("  \(result.file):\(failure.place): \(styled(failure.subject, .bold))")
      for line in failure.text(differenceLimit: limit).split(separator: "\n", omittingEmptySubsequences: false) {
        let style: Terminal.Style? =
          failure.difference == nil ? nil : line.hasPrefix("+") ? .green : line.hasPrefix("-") ? .red : nil
        lines.append("    \(style.map { styled(String(line), $0) } ?? String(line))")
      }
    }
    if !result.hasPassed { lines += result.notes.map { "  \(styled($0, .dim))" } }
    return lines
  }

  /// The last line: counts, and what is to be done about snapshots.
  func summary() -> [String] {
    var lines: [String] = []
    switch mode {
    case .update: lines += obsolete.map { "removed, since no step takes it: \($0)" }
    case .local, .ci: lines += obsolete.map { Self.text(ofObsolete: $0) }
    }
    let written = results.reduce(0) { $0 + $1.written.count }
    let updated = results.reduce(0) { $0 + $1.updated.count }
    var parts = ["\(Formatting.count(results.count, "test")): \(results.count - failed) passed, \(failed) failed"]
    if written > 0 { parts.append("\(Formatting.count(written, "snapshot")) written") }
    if updated > 0 { parts.append("\(Formatting.count(updated, "snapshot")) changed") }
    return lines + [parts.joined(separator: "; ")]
  }

  /// The whole report as text, with whole differences.
  func text() -> String {
    (results.flatMap { lines(of: $0, on: nil, differenceLimit: .max) } + summary()).map { $0 + "\n" }.joined()
  }
}

// MARK: - For programs

extension TestReport {
  /// JUnit's XML, with the file and the line of what failed, as pytest writes them and tools read them.
  func junit() -> String {
    let folders = Dictionary(grouping: results) { result in
      let folder = result.name.pathParts.folder
      return folder.isEmpty ? "." : folder
    }
    let errors = results.count { $0.failures.contains(where: \.isError) }
    let unused = mode == .ci ? obsolete : []
    var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    text +=
      "<testsuites name=\"bundlectl test\" tests=\"\(results.count + unused.count)\" failures=\"\(failed - errors + unused.count)\" errors=\"\(errors)\"\(seconds(results))>\n"
    for (folder, results) in folders.sorted(by: { $0.key < $1.key }) {
      let errors = results.count { $0.failures.contains(where: \.isError) }
      let failures = results.count { !$0.hasPassed } - errors
      text +=
        "  <testsuite name=\"\(folder.xml)\" tests=\"\(results.count)\" failures=\"\(failures)\" errors=\"\(errors)\"\(seconds(results))>\n"
      for result in results { text += testCase(result, folder) }
      text += "  </testsuite>\n"
    }
    if !unused.isEmpty {
      text +=
        "  <testsuite name=\"obsolete snapshots\" tests=\"\(unused.count)\" failures=\"\(unused.count)\" errors=\"0\">\n"
      for file in unused {
        text +=
          "    <testcase classname=\"obsolete snapshots\" name=\"\(file.xml)\" file=\"\(file.xml)\" line=\"1\">\n"
          + "      <failure message=\"\(Self.text(ofObsolete: file).xml)\"/>\n    </testcase>\n"
      }
      text += "  </testsuite>\n"
    }
    return text + "</testsuites>\n"
  }

  private func testCase(_ result: TestResult, _ folder: String) -> String {
    let name = result.name.pathParts.name
    let line = result.failures.first?.place.line ?? 1
    let head =
      "    <testcase classname=\"\(folder.xml)\" name=\"\(name.xml)\" file=\"\(result.file.xml)\" line=\"\(line)\"\(seconds([result]))"
    guard let first = result.failures.first else { return head + "/>\n" }
    let element = result.failures.contains(where: \.isError) ? "error" : "failure"
    let whole = result.failures.map { "\(result.file):\($0.place): \($0.subject)\n\($0.text())" } + result.notes
    return head + ">\n      <\(element) message=\"\("\(first.subject): \(first.message)".xml)\">"
      + "\(whole.joined(separator: "\n").xml(inAttribute: false))</\(element)>\n    </testcase>\n"
  }

  private func seconds(_ results: [TestResult]) -> String {
    guard hasTimes else { return "" }
    let total = results.reduce(Duration.zero) { $0 + $1.time }
    return String(format: " time=\"%.3f\"", total.seconds)
  }

  /// Commands that GitHub Actions shows as annotations: at the step, and at the place of a script's error.
  func github() -> String {
    var lines: [String] = []
    func add(_ file: String, _ line: Int, _ title: String, _ message: String) {
      lines.append(
        "::error file=\(file.githubProperty),line=\(line),title=\(title.githubProperty)::\(message.githubData)")
    }
    for result in results {
      for failure in result.failures {
        add(result.file, failure.place.line, "\(result.name): \(failure.subject)", failure.text())
        // A source map may name a place that is no file.
        guard let source = failure.source, !source.file.contains("://") else { continue }
        add(source.file, source.line, result.name, failure.message)
      }
    }
    if mode == .ci { for file in obsolete { add(file, 1, "obsolete snapshot", Self.text(ofObsolete: file)) } }
    return lines.map { $0 + "\n" }.joined()
  }

  /// The Test Anything Protocol, version 14.
  func tap() -> String {
    let unused = mode == .ci ? obsolete : []
    var text = "TAP version 14\n1..\(results.count + unused.count)\n"
    for (index, result) in results.enumerated() {
      text += "\(result.hasPassed ? "ok" : "not ok") \(index + 1) - \(result.name.tap)\n"
      guard let first = result.failures.first else { continue }
      text += "  ---\n  message: \("\(first.subject): \(first.message)".json)\n  file: \(result.file.json)\n"
      text += "  line: \(first.place.line)\n  column: \(first.place.column)\n"
      if hasTimes { text += "  duration_ms: \(result.time.milliseconds)\n" }
      let details = result.failures.map { "\(result.file):\($0.place): \($0.subject)\n\($0.text())" }
      text += "  failures:\n" + details.map { "    - \($0.json)\n" }.joined() + "  ...\n"
    }
    for (index, file) in unused.enumerated() {
      text += "not ok \(results.count + index + 1) - \(Self.text(ofObsolete: file).tap)\n"
    }
    return text
  }

  /// One JSON object.
  func json() throws -> String {
    let object: JSONObject = [
      "tests": results.count, "failed": failed, "obsolete": obsolete, "passed": !hasFailed,
      "results": results.map { result in
        let object: JSONObject = [
          "name": result.name, "file": result.file, "steps": result.steps, "passed": result.hasPassed,
          "failures": result.failures.map(\.json), "written": result.written, "updated": result.updated,
          "notes": result.notes,
        ]
        return object.adding(ifPresent: ["time": hasTimes ? result.time.seconds : nil])
      },
    ]
    return try JSONOutput.text(object) + "\n"
  }
}

extension TestResult.Failure {
  fileprivate var json: JSONObject {
    let object: JSONObject = [
      "line": place.line, "column": place.column, "step": subject, "message": message, "error": isError,
    ]
    let source: JSONObject? = source.map { ["file": $0.file, "line": $0.line, "column": $0.column] }
    return object.adding(ifPresent: [
      "difference": difference?.text(limit: TestReport.differenceLimit), "source": source,
    ])
  }
}

extension String {
  /// The text for XML 1.0: characters that it forbids become U+FFFD.
  fileprivate var xml: String { xml(inAttribute: true) }

  /// - Parameter inAttribute: pass `true` for a text in quotes, where line breaks would become spaces.
  fileprivate func xml(inAttribute: Bool) -> String {
    var text = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      case "\n", "\t": text += inAttribute ? "&#\(scalar.value);" : String(scalar)
      case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": text += "\u{FFFD}"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  /// The message of a command of GitHub Actions.
  fileprivate var githubData: String {
    replacing("%", with: "%25").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
  }

  /// A property of a command of GitHub Actions.
  fileprivate var githubProperty: String { githubData.replacing(":", with: "%3A").replacing(",", with: "%2C") }

  /// The text in quotes, as JSON and YAML have it.
  fileprivate var json: String { String(decoding: JSONValue.string(self).text, as: UTF8.self) }

  /// A description, in which `#` begins a directive, in one line.
  fileprivate var tap: String {
    replacing("\\", with: "\\\\").replacing("#", with: "\\#").replacing("\n", with: " ")
  }
}
