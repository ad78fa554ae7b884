import Foundation
import PageKit
import PageTesting
import TestSupport
import Testing

@testable import bundlectl

/// The reader of test files.
struct PageTestReadingTests {
  private static func read(_ text: String, file: String = "tests/home.test.json") throws(TestFileError) -> PageTest {
    try PageTest(reading: Array(text.utf8), file: file)
  }

  @Test("a test has the values of its file, with paths from its folder")
  func values() throws {
    let test = try Self.read(
      """
      {"page": "../dist/home.js", "data": {"a": 1}, "device": "tablet", "time": "2026-02-03T04:05:06Z", "seed": 7,
       "zone": "Europe/Berlin", "locale": "de-DE", "framework": "vue.js", "budgets": {"requests": 6, "processorTime": "0.5s", "elements": 400, "bundleBrotli": 9},
       "answers": [{"url": "a.json", "json": [1]}, {"url": "b", "method": "post", "failure": "away"},
        {"url": "c", "text": "c", "status": 404, "headers": {"content-type": "text/x"}}],
       "steps": [{"snapshot": "start", "styles": true}, {"tap": "text=Add"}, {"input": ["#search", "tent"]},
        {"wait": "list", "within": "3s"}, {"advance": "250ms"}, {"fire": ["list", "loadmore", {"a": 2}]},
        {"expect": {"text=3 results": {"count": 1, "attr": {"a": true}}, "#x": {}}}, {"expect": "cell"},
        {"accessible": true, "except": ["contrast", "text-size #hint"]}]}
      """)
    #expect(test.name == "home" && test.page == "tests/../dist/home.js" && test.framework == "tests/vue.js")
    #expect(test.device == PictureOptions.Screen("768x1024@2") && test.data == ["a": 1])
    #expect(test.determinism.time == Date(timeIntervalSince1970: 1_770_091_506))
    #expect(test.determinism.seed == 7 && test.determinism.zone == "Europe/Berlin")
    #expect(test.determinism.locale == "de-DE")
    #expect(test.budgets.map(\.kind) == [.bundleBrotli, .elements, .requests, .processorTime])
    #expect(test.budgets.map(\.limit) == [9, 400, 6, 500])
    #expect(test.answers.map(\.method) == ["GET", "POST", "GET"] && test.answers.map(\.status) == [200, 200, 404])
    #expect(test.answers.map(\.fields) == [["Content-Type": "application/json"], [:], ["content-type": "text/x"]])
    #expect(test.answers[1].failure == "away" && test.answers[2].body == Array("c".utf8))
    #expect(
      test.steps.map(\.action.summary) == [
        "snapshot start", "tap text=Add", "input #search", "wait list", "advance 0.25 s", "fire loadmore list",
        "expect text=3 results, #x", "expect cell", "accessible",
      ])
    #expect(test.steps.map(\.place.line) == [5, 5, 5, 6, 6, 6, 7, 7, 8])
    #expect(test.snapshotNames == ["start"])
  }

  @Test(
    "an error has the file, the line and the column, and says what was expected and found",
    arguments: [
      ("{", "1:2: expected a member's name or \"}\", found the end"),
      ("[]", "1:1: expected an object, found a list"),
      (#"{"steps": []}"#, "1:1: expected a member \"page\", found none"),
      (#"{"page": "a.js"}"#, "1:1: expected a member \"steps\", found none"),
      (#"{"page": 1, "steps": []}"#, "1:10: expected the file of a bundle as a text, found 1"),
      (
        "{\"page\": \"a.js\",\n \"stpes\": []}",
        "2:2: expected \"page\", \"data\", \"device\", \"framework\", \"prelude\", \"answers\", \"time\", \"seed\", "
          + "\"zone\", \"locale\", \"budgets\", \"steps\", found \"stpes\""
      ),
      (
        #"{"page": "a.js", "device": "watch", "steps": []}"#,
        "1:28: expected a device: \"phone\", \"tablet\", or a screen such as \"375x812@2\", found \"watch\""
      ),
      (
        #"{"page": "a.js", "time": "noon", "steps": []}"#,
        "1:26: expected a time such as \"2026-01-01T00:00:00Z\", found \"noon\""
      ),
      (
        #"{"page": "a.js", "seed": -1, "steps": []}"#,
        "1:26: expected a seed as a whole number from 0 to 9223372036854775807, found -1"
      ),
      (
        #"{"page": "a.js", "zone": "Mars", "steps": []}"#,
        "1:26: expected a time zone such as \"UTC\" or \"Europe/Berlin\", found \"Mars\""
      ),
      (#"{"page": "a.js", "steps": {}}"#, "1:27: expected a list of steps, found an object"),
      (
        "{\"page\": \"a.js\", \"steps\": [\n  {\"tapp\": \"list\"}]}",
        "2:3: expected one of snapshot, tap, input, fire, wait, advance, expect, accessible, found \"tapp\""
      ),
      (
        "{\"page\": \"a.js\", \"steps\": [\n  {\"tap\": \"list\", \"wait\": \"list\"}]}",
        "2:3: expected one of snapshot, tap, input, fire, wait, advance, expect, accessible, found \"tap\" and \"wait\""
      ),
      (
        "{\"page\": \"a.js\", \"steps\": [\n  {\"tap\": \".red\"}]}",
        "2:11: expected an element: \"#id\", \"text=…\", a type such as \"list\", or \"cell[3]\", found \".red\""
      ),
      (
        "{\"page\": \"a.js\", \"steps\": [{\"tap\": \"list\", \"within\": \"1s\"}]}",
        "1:44: expected \"tap\", found \"within\""
      ),
      (
        "{\"page\": \"a.js\", \"steps\": [{\"advance\": \"soon\"}]}",
        "1:40: expected a time of at most 365 days, such as \"250ms\", \"2s\" or \"10m\", found \"soon\""
      ),
      (
        "{\"page\": \"a.js\", \"steps\": [{\"input\": [\"#a\"]}]}",
        "1:38: expected an element and a text, such as [\"#search\", \"tent\"], found a list"
      ),
      (
        "{\"page\": \"a.js\", \"steps\": [{\"snapshot\": \"../a\"}]}",
        "1:41: expected a name of 1 to 100 letters, digits, spaces and \"-_.\", which begins with a letter or a digit, "
          + "found \"../a\""
      ),
      (
        "{\"page\": \"a.js\", \"steps\": [{\"snapshot\": \"a\"}, {\"snapshot\": \"A\"}]}",
        "1:60: expected another name of a snapshot, found \"A\" again"
      ),
      (
        "{\"page\": \"a.js\", \"steps\": [{\"expect\": {\"list\": {\"cuont\": 1}}}]}",
        "1:49: expected \"count\", \"attr\", \"style\", found \"cuont\""
      ),
      (
        "{\"page\": \"a.js\", \"budgets\": {\"elements\": 1.5}, \"steps\": []}",
        "1:42: expected a limit as a whole number from 0 to 1000000000000, found 1.5"
      ),
      (
        "{\"page\": \"a.js\", \"budgets\": {\"processorTime\": 40}, \"steps\": []}",
        "1:47: expected a time from 1 ms to 60 s, such as \"40ms\", found 40"
      ),
      (
        "{\"page\": \"a.js\", \"budgets\": {\"processorTime\": \"61s\"}, \"steps\": []}",
        "1:47: expected a time from 1 ms to 60 s, such as \"40ms\", found \"61s\""
      ),
      (
        "{\"page\": \"a.js\", \"budgets\": {\"memory\": 1}, \"steps\": []}",
        "1:30: expected \"bundleBytes\", \"bundleBrotli\", \"elements\", \"depth\", \"requests\", \"responseBytes\", "
          + "\"commands\", \"processorTime\", found \"memory\""
      ),
      (
        "{\"page\": \"a.js\", \"answers\": [{\"url\": \"a\", \"json\": 1, \"text\": \"b\"}], \"steps\": []}",
        "1:54: expected one of body, json, text, failure, found 2"
      ),
      (
        "{\"page\": \"a.js\", \"steps\": [{\"accessible\": true, \"except\": [\"beauty\"]}]}",
        "1:60: expected a rule, one of picture-name, click-name, contrast, touch-size, text-size, with an element "
          + "behind it or not, found \"beauty\""
      ),
    ])
  func errors(_ text: String, _ complaint: String) throws {
    let error = #expect(throws: TestFileError.self) { try Self.read(text) }
    #expect(error.map { "\($0)" } == "tests/home.test.json:\(complaint)")
  }

  @Test("answers come from a folder, whose errors have its own file")
  func folders() throws {
    let folder = try TemporaryDirectory()
    try Files.write(#"[{"url": "a", "body": "a.json"}]"#, to: folder.file("answers/home/answers.json"))
    try Files.write("{}", to: folder.file("answers/home/a.json"))
    try Files.write("[\n  {}]", to: folder.file("answers/bad/answers.json"))
    func read(_ name: String) throws -> PageTest {
      try Self.read(
        #"{"page": "a.js", "answers": "answers/\#(name)", "steps": []}"#, file: folder.file("home.test.json"))
    }
    let test = try read("home")
    #expect(test.answers.map(\.body) == [Array("{}".utf8)])
    #expect(test.answers.map(\.fields) == [["Content-Type": "application/json"]])
    #expect(test.answerFiles.count == 2)
    let bad = #expect(throws: TestFileError.self) { try read("bad") }
    #expect(
      bad.map { "\($0)" } == "\(folder.file("answers/bad/answers.json")):2:3: expected a member \"url\", found none")
    let none = #expect(throws: TestFileError.self) { try read("none") }
    #expect(none?.reason.hasPrefix("expected a folder with answers.json, found none") == true)
  }

  @Test("a time may have milliseconds, and a seed that is too long for a number is a text")
  func longValues() throws {
    let test = try Self.read(
      #"{"page": "a.js", "time": "2026-02-03T04:05:06.250Z", "seed": "18446744073709551615", "steps": []}"#)
    #expect(test.determinism.time == Date(timeIntervalSince1970: 1_770_091_506.25))
    #expect(test.determinism.seed == .max)
    #expect(throws: TestFileError.self) { try Self.read(#"{"page": "a.js", "seed": "-1", "steps": []}"#) }
  }

  @Test("a file that is too long or has too many steps is refused")
  func bounds() throws {
    let steps = Array(repeating: #"{"tap": "list"}"#, count: PageTest.stepLimit + 1).joined(separator: ",")
    let error = #expect(throws: TestFileError.self) { try Self.read(#"{"page": "a.js", "steps": [\#(steps)]}"#) }
    #expect(error?.reason == "expected at most 1000 steps, found 1001")
    let folder = try TemporaryDirectory()
    let file = folder.file("a.test.json")
    try Files.write(String(repeating: " ", count: PageTest.fileLimit + 1), to: file)
    let long = #expect(throws: TestFileError.self) { try PageTest(file: file) }
    #expect(long?.reason == "\(file) cannot be read: it has more than the limit of 1048576 bytes")
  }

  @Test(
    "an element is named by its id, its text, its type, or its place among those of its type",
    arguments: [
      ("#a", ElementQuery.id("a")), ("text=a b", .text("a b")), ("list", .type("list")),
      ("cell-slot", .type("cell-slot")), ("cell[3]", .type("cell")),
      ("cell[0]", nil), ("cell[]", nil), ("cell[+1]", nil), ("[3]", nil), ("cell[3] ", nil), ("cell[1234567]", nil),
      ("", nil), ("#", nil), ("text=", nil), (".a", nil), ("a b", nil), ("1", nil), ("é", nil),
    ] as [(String, ElementQuery?)])
  func selectors(_ text: String, _ query: ElementQuery?) { #expect(ElementSelector(text)?.query == query) }
}
