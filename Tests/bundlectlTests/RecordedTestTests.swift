import Foundation
import PageKit
import TestSupport
import Testing

@testable import bundlectl

/// The steps of a test that a recording makes.
struct RecordedTestTests {
  /// Elements with refs from 11, in their order: some with the same text, fields, and a text that listens to nothing.
  private static let page = #"""
    {"type": "div", "children": [
      {"type": "text", "attr": {"value": "Save"}},
      {"type": "text", "attr": {"value": "Add"}, "event": ["click"]},
      {"type": "cell", "event": ["click"], "children": [{"type": "text", "attr": {"value": "Tent"}}]},
      {"type": "cell", "children": [{"type": "text", "attr": {"value": "Delete"}, "event": ["click"]}]},
      {"type": "cell", "children": [
        {"type": "text", "attr": {"value": "Delete", "id": "second"}, "event": ["click"]},
        {"type": "text", "attr": {"value": "Delete"}, "event": ["click"]}]},
      {"type": "input", "attr": {"value": "typed", "id": "name"}, "event": ["input", "change"]},
      {"type": "textarea", "attr": {"value": "typed"}, "event": ["input"]},
      {"type": "list", "event": ["scroll", "loadmore", "appear"]},
      {"type": "text", "attr": {"value": "Save"}, "event": ["click"]},
      {"type": "text", "attr": {"value": 7}, "event": ["click"]}]}
    """#

  private static func tree() throws -> ElementTree { try ElementTree(text: page) }

  @Test(
    "an element is named by a text that it alone has, else by its id, else by its place among those of its type",
    arguments: [
      ("12", "click", "text=Add"), ("13", "click", "text=Tent"), ("24", "click", "text=7"),
      // Three of the texts listen; one has an id.
      ("16", "click", "text[4]"), ("18", "click", "#second"), ("19", "click", "text[6]"),
      // The first one with the text listens to nothing.
      ("23", "click", "text[7]"),
      // What is typed is no name.
      ("20", "input", "#name"), ("21", "input", "textarea"), ("22", "scroll", "list"),
    ])
  func names(_ ref: String, _ type: String, _ name: String) throws {
    let tree = try Self.tree()
    let element = try #require(tree[ref])
    let selector = ElementSelector(for: element, listeningTo: type, isTap: type == "click", in: tree)
    #expect(selector?.description == name)
    // The test finds the same element.
    let found = try #require(selector?.first(in: tree))
    #expect(try type == "click" ? tree.clicked(.ref(found.ref)).ref == ref : found.ref == ref)
  }

  private static func event(_ ref: String, _ type: String, _ event: ScriptValue = [:]) -> RecordedEntry {
    .event(ref: ref, type: type, event: event)
  }

  private static func steps(_ entries: [(RecordedEntry, Double)], calling made: [RecordedCall] = []) throws
    -> RecordedSteps
  {
    var steps = RecordedSteps(startingAt: 0)
    try steps.add(.open(data: [:]), at: 0, calling: made, in: ElementTree())
    for (entry, time) in entries { try steps.add(entry, at: time, in: tree()) }
    steps.finish()
    return steps
  }

  @Test(
    "each input of a user is a step, and the time passes where timers or the user need it",
    arguments: [
      ([(Self.event("12", "click"), 0)], ["tap text=Add"]),
      ([(Self.event("12", "click", ["position": ["x": 1]]), 0)], ["tap text=Add"]),
      ([(Self.event("12", "click", ["detail": 1]), 0)], ["fire click text=Add"]),
      // A step that types fires both events.
      (
        [(Self.event("20", "input", ["value": "a"]), 0), (Self.event("20", "change", ["value": "a"]), 5)],
        ["input #name"]
      ),
      (
        [(Self.event("20", "input", ["value": "a"]), 0), (Self.event("12", "click"), 5)],
        ["fire input #name", "tap text=Add"]
      ),
      (
        [(Self.event("20", "input", ["value": "a"]), 0), (Self.event("20", "change", ["value": "b"]), 5)],
        ["fire input #name", "fire change #name"]
      ),
      ([(Self.event("21", "input", ["value": "a"]), 0)], ["input textarea"]),
      // The layout of the test's page fires them.
      (
        [(Self.event("22", "appear"), 0), (Self.event("22", "scroll"), 0), (Self.event("22", "loadmore"), 1)],
        ["fire scroll list"]
      ),
      ([(Self.event("12", "click"), 0), (Self.event("22", "loadmore"), 1)], ["tap text=Add", "fire loadmore list"]),
      // Timers that are due soon run by themselves.
      ([(.timer, 150), (Self.event("12", "click"), 160)], ["tap text=Add"]),
      ([(.timer, 1_500), (Self.event("12", "click"), 1_510)], ["advance 1.51 s", "tap text=Add"]),
      ([(Self.event("12", "click"), 2_000)], ["advance 2 s", "tap text=Add"]),
      ([(Self.event("12", "click"), 0), (.timer, 1_000), (.timer, 3_000)], ["tap text=Add", "advance 3 s"]),
      ([(.timer, .infinity), (.timer, .nan), (Self.event("12", "click"), 1e300)], ["tap text=Add"]),
    ] as [([(RecordedEntry, Double)], [String])])
  func inputs(_ entries: [(RecordedEntry, Double)], _ summaries: [String]) throws {
    let steps = try Self.steps(entries)
    #expect(steps.actions.map(\.summary) == ["snapshot start"] + summaries + ["snapshot end"])
    #expect(steps.leftOut.isEmpty)
  }

  @Test("inputs that a test cannot have are counted by their kind")
  func leftOut() throws {
    let steps = try Self.steps(
      [
        (Self.event("11", "click"), 0), (Self.event("109", "click"), 0), (.templateEvent(type: "click"), 0),
        (.other("new data"), 0), (.other("new data"), 0), (.hooks, 0),
        (.answer(callback: "3", value: [:], json: nil), 0), (.answer(callback: "4", value: [:], json: nil), 0),
        (.answer(callback: "5", value: [:], json: nil), 500),
      ],
      calling: [
        RecordedCall(module: "storage", method: "getItem", arguments: ["key", "3"]),
        RecordedCall(module: "stream", method: "fetch", arguments: [["url": "a"], "4"]),
        RecordedCall(module: "timer", method: "setTimeout", arguments: ["5", 500]),
      ])
    #expect(steps.actions.map(\.summary) == ["snapshot start", "advance 0.5 s", "snapshot end"])
    #expect(
      steps.leftOut == [
        "events click that no element listens to": 1, "events click of elements that are gone": 1,
        "events click of cells of a template": 1, "new data": 2, "answers of storage.getItem": 1,
      ])
  }

  @Test("a recording with more inputs than a test has steps is refused")
  func manyInputs() throws {
    let taps = Array(repeating: (Self.event("12", "click"), 0.0), count: PageTest.stepLimit - 2)
    #expect(try Self.steps(taps.dropLast(1)).actions.count == PageTest.stepLimit - 1)
    let error = #expect(throws: DescribedError.self) { try Self.steps(taps) }
    #expect(error?.message.contains("1000 steps") == true)
  }

  @Test(
    "the name of a test is the plain part of its page's name",
    arguments: [
      ("https://pages.example.com/shop/home.min.js?id=3", "home"), ("file:///srv/../../etc/passwd", "passwd"),
      ("file:///..", "page"), ("", "page"), ("https://a.example/-_x y%2Fz.js", "xy2Fz"), ("é.js", "page"),
      (String(repeating: "a", count: 500), String(repeating: "a", count: 60)),
    ])
  func name(_ url: String, _ name: String) { #expect(RecordedTest.name(ofPage: url) == name) }
}
