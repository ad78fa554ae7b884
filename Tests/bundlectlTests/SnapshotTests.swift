import Foundation
import PageKit
import PageTesting
import TestSupport
import Testing

@testable import bundlectl

/// Snapshots: their text, what becomes of them, and how they differ.
struct SnapshotTests {
  // MARK: Text

  @Test("a snapshot has places for refs, sorted attributes, whole texts and paths from the page's folder")
  func outline() throws {
    let long = String(repeating: "long ", count: 30)
    let tree = try ElementTree(
      text: """
        {"type": "div", "attr": {}, "children": [
          {"type": "image", "attr": {"src": "file:///srv/dist/a.png", "alt": "A \\"b\\"\\nc", "none": null}},
          {"type": "text", "attr": {"value": "\(long)", "n": 1.5, "o": {"b": 1, "a": [true]}}, "event": ["longpress", "click"],
           "style": {"fontSize": 32, "color": "red"}},
          {"type": "odd type", "attr": {"a b": "/srv/dist/c"}}]}
        """)
    #expect(
      tree.snapshot(withStyles: false, folder: "file:///srv/dist/")
        == #"""
        div #1
          image #1 alt="A \"b\"\nc" src="a.png"
          text #2 n=1.5 o={"a":[true],"b":1} value="\#(long)" @click,longpress
          "odd type" #3 "a b"="c"

        """#)
    #expect(tree.snapshot(withStyles: true, folder: "").contains(#" @click,longpress {color: "red"; fontSize: 32}"#))
    #expect(ElementTree().snapshot(withStyles: false, folder: "") == "")
  }

  @Test("refs do not count: two runs of a page have the same snapshot")
  func refs() throws {
    let text = #"{"type": "div", "children": [{"type": "text", "attr": {"value": "a"}}]}"#
    let tree = try ElementTree(text: text)
    var record = try #require(String(bytes: tree.record, encoding: .utf8))
    record = record.replacing("\"10\"", with: "\"_root\"").replacing("\"11\"", with: "\"907\"")
    let other = try ElementTree(record: JSONValue(reading: Array(record.utf8)))
    #expect(other.root == "_root")
    #expect(tree.snapshot(withStyles: false, folder: "") == other.snapshot(withStyles: false, folder: ""))
  }

  // MARK: Decisions

  @Test(
    "CI is that of --ci or of the environment, and --update goes before the latter",
    arguments: [
      (false, false, nil, SnapshotMode.local), (true, false, nil, .ci), (false, true, nil, .update),
      (false, false, "true", .ci), (false, false, "1", .ci), (false, false, "", .local),
      (false, false, "false", .local),
      (false, false, "0", .local), (false, true, "true", .update),
    ] as [(Bool, Bool, String?, SnapshotMode)])
  func modes(_ isCI: Bool, _ isUpdate: Bool, _ variable: String?, _ mode: SnapshotMode) {
    let environment = variable.map { ["CI": $0] } ?? [:]
    #expect(SnapshotMode(isCI: isCI, isUpdate: isUpdate, environment: environment) == mode)
  }

  @Test(
    "a snapshot that is missing or differs is written, or fails, by the mode",
    arguments: [
      (SnapshotMode.local, nil, SnapshotMode.Verdict.write(isNew: true)), (.ci, nil, .missing),
      (.update, nil, .write(isNew: true)), (.local, "a", .same), (.ci, "a", .same), (.update, "a", .same),
      (.local, "b", .differs), (.ci, "b", .differs), (.update, "b", .write(isNew: false)),
    ] as [(SnapshotMode, String?, SnapshotMode.Verdict)])
  func verdicts(_ mode: SnapshotMode, _ stored: String?, _ verdict: SnapshotMode.Verdict) {
    #expect(mode.verdict(stored: stored, shown: "a") == verdict)
  }

  @Test(
    "a snapshot has a name that is the same file on every system",
    arguments: [
      ("start", true), ("2 results", true), ("a.b-c_d", true), (String(repeating: "a", count: 100), true), ("", false),
      (".a", false), ("a/b", false), ("a ", false), ("a.", false), ("é", false), ("a\n", false), ("..", false),
      (String(repeating: "a", count: 101), false),
    ])
  func names(_ name: String, _ isName: Bool) { #expect(SnapshotFolder.isName(name) == isName) }

  @Test("obsolete snapshots are those that no step takes; removing the last one removes the folders")
  func obsolete() throws {
    let folder = try TemporaryDirectory()
    let snapshots = SnapshotFolder(ofTest: folder.file("home.test.json"))
    #expect(snapshots.path == folder.file("__snapshots__/home"))
    #expect(SnapshotFolder(ofTest: "home.test.json").path == "__snapshots__/home")
    #expect(try snapshots.stored("a") == nil)
    try snapshots.write("1", "a")
    try snapshots.write("2", "b")
    #expect(try snapshots.stored("a") == "1")
    #expect(snapshots.obsolete(besides: ["a"]) == [snapshots.file("b")])
    try SnapshotFolder.remove([snapshots.file("b")])
    #expect(Files.exists(snapshots.file("a")) && !Files.exists(snapshots.file("b")))
    try SnapshotFolder.remove([snapshots.file("a")])
    #expect(!Files.exists(folder.file("__snapshots__")) && Files.exists(folder.path))
  }

  @Test(
    "a path has a folder and a name, however short it is",
    arguments: [
      ("a", "", "a"), ("a/b", "a", "b"), ("/a", "/", "a"), ("/a/b.c", "/a", "b.c"), ("", "", ""), ("a/", "a", ""),
      ("é", "", "é"),
    ])
  func paths(_ path: String, _ folder: String, _ name: String) {
    #expect(path.pathParts.folder == folder && path.pathParts.name == name)
  }

  // MARK: Differences

  @Test("a difference is unified, with the path of the first element that differs")
  func difference() {
    let old =
      "div #1\n  list #1\n    cell #1\n      text #1 value=\"a\"\n    cell #2\n  text #2\n  text #3\n  text #4\n"
    let new = old.replacing("value=\"a\"", with: "value=\"b\"").replacing("  text #4\n", with: "")
    #expect(
      OutlineDifference(from: old, to: new).lines == [
        "@@ -1,8 +1,7 @@ div > list[1] > cell[1] > text[1]", " div #1", "   list #1", "     cell #1",
        "-      text #1 value=\"a\"", "+      text #1 value=\"b\"", "     cell #2", "   text #2", "   text #3",
        "-  text #4",
      ])
    #expect(OutlineDifference(from: old, to: old).lines.isEmpty)
    #expect(OutlineDifference(from: "", to: "div #1\n").lines == ["@@ -0,0 +1 @@ div", "+div #1"])
  }

  @Test("differences that are far from each other are hunks of their own")
  func hunks() {
    let lines = (1...40).map { "  text #\($0)" }
    var changed = lines
    changed[4] += " value=\"a\""
    changed[30] += " value=\"b\""
    let found = OutlineDifference(
      from: "div #1\n" + lines.joined(separator: "\n"), to: "div #1\n" + changed.joined(separator: "\n")
    ).lines
    #expect(
      found.filter { $0.hasPrefix("@@") } == ["@@ -3,7 +3,7 @@ div > text[5]", "@@ -29,7 +29,7 @@ div > text[31]"])
    #expect(found.count == 18)
  }

  @Test("a long difference is cut, and says how many lines there are more; one of any length takes no long time")
  func longDifferences() {
    let (old, new) = ((1...60_000).map { "a\($0)\n" }.joined(), (1...60_000).map { "b\($0)\n" }.joined())
    let difference = OutlineDifference(from: old, to: new)
    let text = difference.text(limit: 200).split(separator: "\n")
    #expect(text.count == 201 && text.last == "… 119801 more lines")
    #expect(difference.text(limit: .max).split(separator: "\n").count == 120_001)
  }
}
