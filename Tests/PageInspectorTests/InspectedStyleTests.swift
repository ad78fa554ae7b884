import HTTPTransport
import ScriptEngine
import Testing

@testable import PageInspector
@testable import PageRuntime

@Suite struct InspectedStyleTests {
  private static func reason(_ body: () throws -> Void) -> String? {
    do {
      try body()
      return nil
    } catch {
      return (error as? InspectorFault)?.message
    }
  }

  @Test(
    "declarations are read with their order, and those in comments are off",
    arguments: [
      ("", ""), ("  ;; ", ""), ("color: red", "color: red;"), ("color:red;width :2px", "color: red; width: 2px;"),
      ("/* color: red; */width: 100px;", "/* color: red; */ width: 100px;"),
      ("/* a note */ width: /* wide */ 9", "width: 9;"), ("backgroundColor: RED", "background-color: RED;"),
      ("a: calc(1px; 2px); b: 'x;y'", "a: calc(1px; 2px); b: 'x;y';"), (#"a: "\";" "#, #"a: "\";";"#),
      ("color: red; color: blue", "color: red; color: blue;"), ("/* a; b */c: d", "c: d;"),
      ("transform: translate(10px, 20px) rotate(3deg)", "transform: translate(10px, 20px) rotate(3deg);"),
    ])
  func reading(text: String, expected: String) throws {
    let style = try InspectedStyle(reading: text)
    #expect(style.text == expected)
    #expect(try InspectedStyle(reading: style.text) == style)
  }

  @Test(
    "what is no declaration is refused with a sentence that names it",
    arguments: [
      ("colour red", "\"colour red\" is not a declaration such as \"color: red\""),
      ("a: 1; {", "\"{\" is not a declaration such as \"color: red\""), (": red", "\": red\" is not a declaration"),
      ("width:", "the property \"width\" has no value"), ("a b: 1", "\"a b: 1\" is not a declaration"),
      ("color: red !important", "no \"!important\", as \"color\" has"),
      ("a: 'x", "a quotation of the style has no end"),
      ("a: 1 /* b", "a comment of the style has no end"), ("a: f(1", "the parentheses of the style are not closed"),
      ("a: f)1", "the parentheses of the style are not closed"),
      (String(repeating: "x", count: 51) + ": 1", "51 bytes; the limit is 50"),
      (String(repeating: "a: 1;", count: 501), "more than 500 declarations"),
      ("a: " + String(repeating: "x", count: 200_000), "200003 bytes; the limit is 131072"),
    ])
  func refusals(text: String, expected: String) {
    let reason = Self.reason { _ = try InspectedStyle(reading: text) }
    #expect(reason?.contains(expected) == true, "\(reason ?? "read")")
  }

  @Test("a text takes the place of a range, and a range that is not of the style is refused")
  func ranges() throws {
    let style = try InspectedStyle(reading: "color: red; width: 1px;")
    func range(_ start: ScriptValue, _ end: ScriptValue, line: ScriptValue = 0) -> ScriptValue {
      ["startLine": line, "startColumn": start, "endLine": line, "endColumn": end]
    }
    #expect(try style.replacing(range(7, 10), by: "blue").text == "color: blue; width: 1px;")
    #expect(try style.replacing(range(0, 23), by: "").text == "")
    #expect(try style.replacing(range(23, 23), by: "top: 0").text == "color: red; width: 1px; top: 0;")
    for bad in [range(0, 24), range(-1, 3), range(5, 2), range(0, 1e300), range("0", 3), range(0, 3, line: 1), .null] {
      let reason = Self.reason { _ = try style.replacing(bad, by: "") }
      #expect(reason == "the range is not one of the style's text, which is one line of 23 characters")
    }
  }

  @Test("the order of the debugger stays while the page changes values, and what is off stays off")
  func following() throws {
    var style = try InspectedStyle(reading: "width: 1px; /* top: 2px; */ color: red; color: blue; left: 3px")
    style.follow([("color", "green"), ("height", "4"), ("width", "1px")])
    #expect(style.text == "width: 1px; /* top: 2px; */ color: red; color: green; height: 4;")
    style.follow([])
    #expect(style.text == "/* top: 2px; */")
  }

  @Test("a style that a script has written in another way than CSS is shown, and cannot be edited")
  func uneditable() throws {
    var style = InspectedStyle()
    style.follow([("width", "1; 2"), ("x y", "3")])
    let json = style.json(id: "style.2")
    #expect(json["styleSheetId"] == .undefined && json["range"] == .undefined)
    #expect(json["cssProperties"].array == [["name": "width", "value": "1; 2"], ["name": "x y", "value": "3"]])
  }

  @Test("attributes are read as in a tag")
  func attributes() throws {
    let read = try InspectedEdit.attributes(
      in: #" src="a b.png" alt='"x"' title=&lt;1&amp;2&gt; on  value = "&quot;" "#)
    #expect(read.map(\.name) == ["src", "alt", "title", "on", "value"])
    #expect(read.map(\.value) == ["a b.png", "\"x\"", "<1&2>", "", "\""])
    #expect(try InspectedEdit.attributes(in: "").isEmpty)
    for (text, expected) in [
      ("=1", "\"\" is not the name"), ("a<b=1", "\"a<b\" is not the name"), ("a=\"1", "no closing quotation mark"),
      (String(repeating: "x", count: 201), "201 bytes; the limit is 200"),
      (String(repeating: "a ", count: 201), "more than 200 attributes"),
      (String(repeating: "a", count: 300_000), "300000 bytes"),
    ] {
      let reason = Self.reason { _ = try InspectedEdit.attributes(in: text) }
      #expect(reason?.contains(expected) == true, "\(reason ?? "read")")
    }
  }

  @Test("10,000 random texts are read or refused, and what is read is read again as the same")
  func randomTexts() {
    var random = SplitMix(state: 5)
    let parts = [
      "a", "color", ":", ";", " ", "/*", "*/", "'", "\"", "(", ")", "\\", "red", "-", "\n", "é", "!important",
    ]
    for _ in 0..<10_000 {
      let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }
        .joined()
      _ = try? InspectedEdit.attributes(in: text)
      guard let style = try? InspectedStyle(reading: text) else { continue }
      // A value may have what ends a comment.
      if style.declarations.allSatisfy(\.isOn) {
        #expect((try? InspectedStyle(reading: style.text)) == style, "\(text)")
      }
    }
  }
}
