import Foundation
import PageKit
import Testing

@testable import bundlectl

/// The reports of `bundlectl test`: their exact bytes.
struct TestReportTests {
  private static let report: TestReport = {
    var home = TestResult(file: "tests/home.test.json", steps: 3)
    home.written = ["tests/__snapshots__/home/a.outline"]
    home.time = .milliseconds(12)
    var list = TestResult(file: "tests/list.test.json", steps: 2)
    list.failures = [
      .init(
        place: TextPlace(line: 4, column: 5), subject: "tap text=A, B", message: "100% <wrong>: \"x\" & y",
        source: .init(file: "src/home.ts", line: 6, column: 3)),
      .init(
        place: TextPlace(line: 5, column: 5), subject: "snapshot a", message: "the page differs",
        difference: OutlineDifference(from: "div #1\n", to: "div #1 a=\"b\"\n")),
    ]
    list.notes = ["log: hello"]
    var bad = TestResult(file: "bad.test.json")
    bad.failures = [
      .init(place: TextPlace(line: 1, column: 2), subject: "the test file", message: "expected \":\"", isError: true)
    ]
    return TestReport(results: [bad, home, list], obsolete: ["tests/__snapshots__/home/old.outline"], mode: .ci)
  }()

  @Test("the text names each test and each failure with its place; notes and differences follow")
  func text() {
    #expect(
      Self.report.text() == """
        ✗ bad (0 steps)
          bad.test.json:1:2: the test file
            expected ":"
        ✓ tests/home (3 steps)
          new snapshot: tests/__snapshots__/home/a.outline
        ✗ tests/list (2 steps)
          tests/list.test.json:4:5: tap text=A, B
            100% <wrong>: "x" & y
            at src/home.ts:6:3
          tests/list.test.json:5:5: snapshot a
            the page differs
            @@ -1 +1 @@ div
            -div #1
            +div #1 a="b"
          log: hello
        tests/__snapshots__/home/old.outline is a snapshot that no step takes: remove it with --update
        3 tests: 1 passed, 2 failed; 1 snapshot written

        """)
  }

  @Test("JUnit's XML has the file and the line of the first failure, and errors apart from failures")
  func junit() {
    #expect(
      Self.report.junit() == """
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="bundlectl test" tests="4" failures="2" errors="1">
          <testsuite name="." tests="1" failures="0" errors="1">
            <testcase classname="." name="bad" file="bad.test.json" line="1">
              <error message="the test file: expected &quot;:&quot;">bad.test.json:1:2: the test file
        expected &quot;:&quot;</error>
            </testcase>
          </testsuite>
          <testsuite name="tests" tests="2" failures="1" errors="0">
            <testcase classname="tests" name="home" file="tests/home.test.json" line="1"/>
            <testcase classname="tests" name="list" file="tests/list.test.json" line="4">
              <failure message="tap text=A, B: 100% &lt;wrong&gt;: &quot;x&quot; &amp; y">tests/list.test.json:4:5: tap text=A, B
        100% &lt;wrong&gt;: &quot;x&quot; &amp; y
        at src/home.ts:6:3
        tests/list.test.json:5:5: snapshot a
        the page differs
        @@ -1 +1 @@ div
        -div #1
        +div #1 a=&quot;b&quot;
        log: hello</failure>
            </testcase>
          </testsuite>
          <testsuite name="obsolete snapshots" tests="1" failures="1" errors="0">
            <testcase classname="obsolete snapshots" name="tests/__snapshots__/home/old.outline" file="tests/__snapshots__/home/old.outline" line="1">
              <failure message="tests/__snapshots__/home/old.outline is a snapshot that no step takes: remove it with --update"/>
            </testcase>
          </testsuite>
        </testsuites>

        """)
  }

  @Test("GitHub's annotations are at the step and at the place of the script's error, with escapes")
  func github() {
    #expect(
      Self.report.github() == """
        ::error file=bad.test.json,line=1,title=bad%3A the test file::expected ":"
        ::error file=tests/list.test.json,line=4,title=tests/list%3A tap text=A%2C B::100%25 <wrong>: "x" & y%0Aat src/home.ts:6:3
        ::error file=src/home.ts,line=6,title=tests/list::100%25 <wrong>: "x" & y
        ::error file=tests/list.test.json,line=5,title=tests/list%3A snapshot a::the page differs%0A@@ -1 +1 @@ div%0A-div #1%0A+div #1 a="b"
        ::error file=tests/__snapshots__/home/old.outline,line=1,title=obsolete snapshot::tests/__snapshots__/home/old.outline is a snapshot that no step takes: remove it with --update

        """)
  }

  @Test("TAP has a line for each test, and what failed as YAML")
  func tap() {
    #expect(
      Self.report.tap() == #"""
        TAP version 14
        1..4
        not ok 1 - bad
          ---
          message: "the test file: expected \":\""
          file: "bad.test.json"
          line: 1
          column: 2
          failures:
            - "bad.test.json:1:2: the test file\nexpected \":\""
          ...
        ok 2 - tests/home
        not ok 3 - tests/list
          ---
          message: "tap text=A, B: 100% <wrong>: \"x\" & y"
          file: "tests/list.test.json"
          line: 4
          column: 5
          failures:
            - "tests/list.test.json:4:5: tap text=A, B\n100% <wrong>: \"x\" & y\nat src/home.ts:6:3"
            - "tests/list.test.json:5:5: snapshot a\nthe page differs\n@@ -1 +1 @@ div\n-div #1\n+div #1 a=\"b\""
          ...
        not ok 4 - tests/__snapshots__/home/old.outline is a snapshot that no step takes: remove it with --update

        """#)
  }

  @Test("the JSON has every result")
  func json() throws {
    let value = ScriptValue(try JSONValue(reading: Array(Self.report.json().utf8)))
    #expect(value["tests"] == 3 && value["failed"] == 2 && value["passed"] == false)
    #expect(value["obsolete"] == ["tests/__snapshots__/home/old.outline"])
    let list = value["results"].array?.last ?? [:]
    #expect(list["name"] == "tests/list" && list["steps"] == 2 && list["notes"] == ["log: hello"])
    let failure = list["failures"].array?.first ?? [:]
    #expect(failure["line"] == 4 && failure["column"] == 5 && failure["step"] == "tap text=A, B")
    #expect(failure["source"] == ["file": "src/home.ts", "line": 6, "column": 3])
  }

  @Test("an obsolete snapshot fails a run with --ci alone, and times stand in reports that ask for them")
  func outcomes() {
    var report = TestReport(results: [TestResult(file: "a.test.json")], obsolete: ["b"], mode: .ci)
    #expect(report.hasFailed)
    report.mode = .local
    #expect(!report.hasFailed && !report.junit().contains("obsolete") && report.github().isEmpty)
    report.mode = .update
    #expect(report.summary() == ["removed, since no step takes it: b", "1 test: 1 passed, 0 failed"])
    report.results[0].time = .milliseconds(1_250)
    #expect(!report.junit().contains("time="))
    report.hasTimes = true
    #expect(report.junit().contains("line=\"1\" time=\"1.250\"/>"))
    #expect(report.text().hasPrefix("✓ a (0 steps, 1250 ms)\n"))
  }

  @Test("characters that XML forbids are replaced")
  func forbiddenCharacters() {
    var result = TestResult(file: "a.test.json")
    result.failures = [.init(place: TextPlace(line: 1, column: 1), subject: "a", message: "x\u{1B}[31m\u{0}")]
    let xml = TestReport(results: [result]).junit()
    #expect(xml.contains("x\u{FFFD}[31m\u{FFFD}") && !xml.contains("\u{1B}"))
  }

  @Test(
    "a report is named with its file; GitHub's goes to the output",
    arguments: [
      ("junit=a.xml", TestCommand.Report.Format.junit, "a.xml"), ("tap=a=b", .tap, "a=b"), ("github", .github, nil),
      ("junit", nil, nil), ("github=a", nil, nil), ("json=", nil, nil), ("html=a", nil, nil),
    ] as [(String, TestCommand.Report.Format?, String?)])
  func arguments(_ text: String, _ format: TestCommand.Report.Format?, _ file: String?) {
    let report = TestCommand.Report(argument: text)
    #expect(report?.format == format && report?.file == file)
  }
}
