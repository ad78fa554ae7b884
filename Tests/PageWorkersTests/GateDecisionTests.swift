import Foundation
import PageKit
import Testing

@testable import PageWorkers

struct GateDecisionTests {
  private static func run(_ outcome: GateRun.Outcome = .rendered, _ change: (inout GateRun) -> Void = { _ in })
    -> GateRun
  {
    var run = GateRun(outcome)
    change(&run)
    return run
  }

  /// The findings of a page as `effect rule text`.
  private static func findings(
    _ new: GateRun, _ former: GateRun? = nil, _ settings: GateSettings = GateSettings(), on day: String = "2026-11-28"
  ) throws -> [String] {
    let page = GatePageRuns(name: "home", file: "home.js", new: new, former: former)
    return GateDecision.findings([page], settings, on: try #require(GateDay(day))).map {
      "\($0.effect.rawValue) \($0.rule.rawValue) \($0.sentence)"
    }
  }

  private static func settings(_ text: String) throws -> GateSettings { try GateSettings(reading: Array(text.utf8)) }

  @Test("a page that renders as before has no findings")
  func sound() throws {
    #expect(try Self.findings(Self.run()) == [])
    let same = Self.run { ($0.kinds, $0.asked) = (["text in div": 2], ["GET https://a.example/"]) }
    #expect(try Self.findings(same, same) == [])
  }

  @Test(
    "a page that does not render refuses the release, whatever the release before did",
    arguments: [
      (.empty, "refused empty has created no body, so that it shows nothing"),
      (.failed("no framework"), "refused opening could not open: no framework"),
      (.stopped("a script ran for longer than 5 s"), "refused stopped was stopped: a script ran for longer than 5 s"),
      (.notRun, "refused notRun was not run: the time of the gate was over"),
    ] as [(GateRun.Outcome, String)])
  func outcomes(_ outcome: GateRun.Outcome, _ finding: String) throws {
    #expect(try Self.findings(Self.run(outcome)) == [finding])
    #expect(try Self.findings(Self.run(outcome), Self.run(outcome)) == [finding])
  }

  @Test("an exception refuses the release unless the page threw the same before, at any place")
  func exceptions() throws {
    let new = Self.run { $0.exceptions = [.init(message: "TypeError: x", place: "home.js:3:7")] }
    let other = Self.run { $0.exceptions = [.init(message: "TypeError: x", place: "home.js:1:1")] }
    #expect(try Self.findings(new) == ["refused exception threw TypeError: x (home.js:3:7)"])
    #expect(try Self.findings(new, Self.run()) == ["refused exception threw TypeError: x (home.js:3:7)"])
    #expect(
      try Self.findings(new, other)
        == ["shown exception threw TypeError: x (home.js:3:7), as in the release before"])
    // The exception is the reason.
    var failed = new
    failed.outcome = .failed("home.js cannot be opened")
    #expect(try Self.findings(failed) == ["refused exception threw TypeError: x (home.js:3:7)"])
  }

  @Test("an exception has the place of the innermost call if the engine gave none, and that of the source with a map")
  func mappedExceptions() throws {
    let url = try #require(PageURL("https://a.example/dist/home.js"))
    let map = try SourceMap(
      reading: Array(#"{"version": 3, "sources": ["home.vue"], "names": [], "mappings": ";;;;AASE"}"#.utf8), at: url)
    var run = GateRun(.rendered)
    run.record(ScriptException(message: "one", url: url.text, line: 5, column: 9))
    run.record(ScriptException(message: "two", stack: "f@\(url.text):5:1\ng@\(url.text):1:1"))
    run.record(ScriptException(message: "three", url: "https://a.example/dist/other.js", line: 5))
    run.record(ScriptException(message: "four"))
    let former = run
    #expect(
      run.exceptions.map(\.place) == [
        "\(url.readable):5:9", "\(url.readable):5:1", "https://a.example/dist/other.js:5", nil,
      ])
    run.map(through: map, of: url)
    #expect(
      run.exceptions.map(\.place) == [
        "https://a.example/dist/home.vue:10:3", "https://a.example/dist/home.vue:10:3",
        "https://a.example/dist/other.js:5", nil,
      ])
    // It is the same exception.
    #expect(
      try Self.findings(run, former).allSatisfy { $0.hasPrefix("shown exception") })
  }

  @Test("a missing part refuses the release unless it was missing before, or apps register it")
  func missing() throws {
    let new = Self.run { $0.missing = [.module("cart"), .component("map")] }
    let former = Self.run { $0.missing = [.module("cart")] }
    #expect(
      try Self.findings(new, former) == [
        "refused missing the component \"map\" is not registered: it is laid out as a div",
        "shown missing the module \"cart\" is not registered, as in the release before",
      ])
    #expect(try Self.findings(new, nil, try Self.settings(#"{"registered": ["cart", "map"]}"#)) == [])
  }

  /// A run with a value that a budget limits.
  private static func run(_ rule: GateRule, _ value: Int64) -> GateRun {
    run {
      switch rule {
      case .bundleBytes: $0.bundleBytes = value
      case .bundleBrotli: $0.brotliBytes = value
      case .elements: $0.elements = value
      case .depth: $0.depth = value
      case .requests: $0.requests = value
      case .responseBytes: $0.responseBytes = value
      case .commands: $0.commands = value
      default: $0.processorTime = .milliseconds(value)
      }
    }
  }

  @Test(
    "a value above its budget refuses the release, and one at it does not",
    arguments: [
      (.bundleBytes, "the bundle has 8 bytes, and the budget is 7"),
      (.bundleBrotli, "the bundle has 8 bytes with the coding br, and the budget is 7"),
      (.elements, "has 8 elements, and the budget is 7"), (.depth, "has 8 levels of elements, and the budget is 7"),
      (.requests, "made 8 requests, and the budget is 7"),
      (.responseBytes, "got 8 bytes of responses, and the budget is 7"),
      (.commands, "changed the tree 8 times, and the budget is 7"),
      (.processorTime, "took 8 ms of processor time, and the budget is 7 ms"),
    ] as [(GateRule, String)])
  func budgets(_ rule: GateRule, _ text: String) throws {
    func member(_ value: Int) -> String {
      "{\"\(rule.rawValue)\": \(rule == .processorTime ? "\"\(value)ms\"" : "\(value)")}"
    }
    for settings in ["{\"budgets\": \(member(7))}", "{\"pages\": {\"home\": \(member(7))}}"] {
      let settings = try Self.settings(settings)
      #expect(try Self.findings(Self.run(rule, 8), nil, settings) == ["refused \(rule.rawValue) \(text)"])
      #expect(try Self.findings(Self.run(rule, 7), nil, settings) == [])
    }
    // A page's own budget is the one that counts.
    let wider = try Self.settings("{\"budgets\": \(member(7)), \"pages\": {\"home\": \(member(9))}}")
    #expect(try Self.findings(Self.run(rule, 8), nil, wider) == [])
  }

  @Test("elements that came and went, new requests, unanswered ones and more time are shown")
  func shown() throws {
    let former = Self.run {
      $0.kinds = ["div": 1, "text in div": 2, "image in div": 1]
      $0.asked = ["GET https://a.example/one", "GET https://a.example/old"]
      $0.processorTime = .milliseconds(20)
    }
    let new = Self.run {
      $0.kinds = ["div": 1, "text in div": 5, "list in div": 1]
      $0.asked = ["GET https://a.example/one", "GET https://a.example/two"]
      $0.unanswered = ["GET https://a.example/two"]
      $0.processorTime = .milliseconds(30)
    }
    #expect(
      try Self.findings(new, former) == [
        "shown tree has fewer elements: 1 image in div",
        "shown tree has more elements: 3 text in div, 1 list in div",
        "shown request has new requests: GET https://a.example/two",
        "shown unanswered asked for what has no recorded answer: GET https://a.example/two",
        "shown slower took 30 ms of processor time, and 20 ms in the release before",
      ])
    // Less than a quarter, and less than 5 ms, are chance.
    for (before, after) in [(100, 124), (4, 8)] {
      let findings = try Self.findings(
        Self.run { $0.processorTime = .milliseconds(after) }, Self.run { $0.processorTime = .milliseconds(before) })
      #expect(findings == [])
    }
    // A page that was not run is compared with nothing.
    #expect(try Self.findings(new, Self.run(.notRun)).count == 1)
  }

  @Test("an exemption lets a page pass until its day is over, and then is a finding")
  func exemptions() throws {
    let settings = try Self.settings(
      #"{"exemptions": [{"page": "ho*", "rule": "empty", "reason": "goes in May", "until": "2026-11-28"}]}"#)
    let text = "has created no body, so that it shows nothing"
    #expect(try Self.findings(Self.run(.empty), nil, settings) == ["exempt empty \(text) (exempt: goes in May)"])
    #expect(
      try Self.findings(Self.run(.stopped("late")), nil, settings) == ["refused stopped was stopped: late"])
    let later = try Self.findings(Self.run(.empty), nil, settings, on: "2026-11-29")
    #expect(
      later == [
        "shown exemption the exemption of empty ended on 2026-11-28 (goes in May)", "refused empty \(text)",
      ])
    let all = try Self.settings(
      #"{"exemptions": [{"page": "home", "reason": "r", "until": "2027-01-01"}, {"page": "gone", "reason": "s", "until": "2027-01-01"}]}"#
    )
    #expect(
      try Self.findings(Self.run(.stopped("late")), nil, all) == [
        "shown exemption the exemption of all rules is of no page of the release (s)",
        "exempt stopped was stopped: late (exempt: r)",
      ])
  }

  @Test("findings have the same order whatever that of the pages is")
  func order() throws {
    let pages = ["b", "a", "c"].map { name in
      GatePageRuns(
        name: name, file: name,
        new: Self.run(.empty) {
          $0.missing = [.module("y"), .module("x")]
          $0.unanswered = ["GET https://a.example/2", "GET https://a.example/1"]
        })
    }
    let day = try #require(GateDay("2026-11-28"))
    let findings = GateDecision.findings(pages, gone: ["aa"], GateSettings(), on: day)
    #expect(findings == GateDecision.findings(pages.reversed(), gone: ["aa"], GateSettings(), on: day))
    #expect(
      findings.map { "\($0.page ?? "") \($0.rule.rawValue)" } == [
        "a empty", "a missing", "a missing", "a unanswered", "aa page", "b empty", "b missing", "b missing",
        "b unanswered", "c empty", "c missing", "c missing", "c unanswered",
      ])
  }

  @Test("a finding names at most eight changes")
  func manyNames() throws {
    let new = Self.run { $0.asked = Set((10..<30).map { "GET https://a.example/\($0)" }) }
    let finding = try #require(try Self.findings(new, Self.run()).first)
    #expect(finding.hasSuffix("GET https://a.example/17, and 12 more"))
  }
}

struct GateSettingsTests {
  @Test("gate.json is read as a whole")
  func whole() throws {
    let text = """
      {
        "budgets": {"bundleBrotli": 16000, "processorTime": "40ms"}, "pages": {"list": {"elements": 2500}},
        "exemptions": [{"page": "old/*", "reason": "goes", "until": "2026-12-31"}],
        "leaveOut": ["lib/*"], "registered": ["cart"], "answers": ".answers", "time": "60s", "pageTime": "2s"
      }
      """
    let settings = try GateSettings(reading: Array(text.utf8))
    #expect(settings.budgets(of: "home") == [.bundleBrotli: 16_000, .processorTime: 40])
    #expect(settings.budgets(of: "list") == [.bundleBrotli: 16_000, .processorTime: 40, .elements: 2_500])
    #expect(settings.exemptions.map(\.until.description) == ["2026-12-31"])
    #expect(!settings.runs("lib/vue") && settings.runs("library"))
    #expect(settings.answers == ".answers" && settings.time == .seconds(60) && settings.pageTime == .seconds(2))
  }

  @Test(
    "what cannot be used is named with its line and column, what was found and what is expected",
    arguments: [
      ("{\n  \"budgets\": {\"elements\": \"many\"}}", "2:27: \"elements\" is \"many\": write a whole number from 0 to"),
      ("{\"budgets\": {\"element\": 3}}", "1:25: there is no member \"element\": there are bundleBytes, bundleBrotli"),
      ("{\"budgets\": {\"processorTime\": 40}}", "1:31: \"processorTime\" is 40: write a time from 0.001 s to 60 s"),
      ("{\"budget\": {}}", "1:12: there is no member \"budget\": there are answers, budgets"),
      ("[]", "1:1: expected an object, found a list"),
      ("{\"exemptions\": [\n{\"page\": \"a\", \"until\": \"2026-12-31\"}]}", "2:1: the exemption has no \"reason\""),
      (
        "{\"exemptions\": [{\"page\": \"a\", \"reason\": \"r\", \"until\": \"2026-02-30\"}]}",
        "1:55: \"until\" is \"2026-02-30\": write a day, such as \"2026-12-31\""
      ),
      (
        "{\"exemptions\": [{\"page\": \"a\", \"reason\": \"r\", \"until\": \"2026-12-31\", \"rule\": \"slow\"}]}",
        "\"rule\" is \"slow\": write one of opening, stopped"
      ),
      ("{\"time\": \"2h\"}", "1:10: \"time\" is \"2h\": write a time from 1 s to 3600 s"),
      ("{\"leaveOut\": [\"\"]}", "1:15: expected a text, found \"\""),
      ("{", "1:2: expected a member's name or \"}\""),
    ])
  func faults(_ text: String, _ message: String) {
    let error = #expect(throws: DescribedError.self) { try GateSettings(reading: Array(text.utf8)) }
    #expect(error?.description.hasPrefix("gate.json:") == true)
    #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
  }

  @Test("a folder without gate.json has no budgets and exemptions")
  func noFile() throws {
    #expect(try GateSettings(in: "/nowhere") == GateSettings())
  }

  @Test("days are those of the calendar", arguments: ["2026-1-1", "2026-13-01", "2026-02-29", "99-01-01", "", "today"])
  func days(_ text: String) {
    #expect(GateDay(text) == nil)
  }
}

struct GateReportTests {
  private static func report() throws -> GateReport {
    GateReport(
      release: "r2", former: "r1",
      pages: [
        GatePageRuns(name: "cart", file: "dist/cart.js", new: GateRun(.rendered)),
        GatePageRuns(name: "home", file: "dist/home.js", new: GateRun(.empty)),
      ],
      findings: [
        GateFinding(.shown, page: "gone", .page, "is not in the release any more"),
        GateFinding(.refused, page: "home", .exception, "threw \"a\" < b & \u{1}c\nd"),
        GateFinding(.exempt, page: "home", .empty, "has created no body", reason: "soon"),
      ], time: .milliseconds(1_234))
  }

  @Test("the report for build servers has a case for each page, with its file, and one for the rest")
  func junit() throws {
    let text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <testsuites tests="3" failures="1" time="1.234">
        <testsuite name="gate of release r2" tests="3" failures="1" time="1.234">
          <testcase classname="gate" name="cart" file="dist/cart.js"/>
          <testcase classname="gate" name="home" file="dist/home.js">
            <failure type="exception" message="threw &quot;a&quot; &lt; b &amp; \u{FFFD}c&#10;d"/>
            <system-out>has created no body (exempt: soon)
      </system-out>
          </testcase>
          <testcase classname="gate" name="release">
            <system-out>is not in the release any more
      </system-out>
          </testcase>
        </testsuite>
      </testsuites>

      """
    #expect(try Self.report().junit == text)
  }

  @Test("a refusal names the first finding, and how many more there are")
  func refusal() throws {
    var report = try Self.report()
    #expect(report.refusal?.hasPrefix("the gate refuses release r2: home: threw") == true)
    report.findings.append(GateFinding(.refused, page: "list", .empty, "has created no body"))
    #expect(report.refusal?.hasSuffix("; and 1 more") == true)
    report.findings = []
    #expect(report.refusal == nil && !report.isRefused)
  }
}
