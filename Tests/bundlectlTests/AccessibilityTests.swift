import PageKit
import Testing

@testable import bundlectl

/// The rules for pages that everybody can use.
struct AccessibilityTests {
  private static func findings(
    _ element: String, style: String = "{}", except exceptions: [AccessibilityException] = []
  ) throws -> [String] {
    let tree = try ElementTree(text: #"{"type": "div", "style": \#(style), "children": [\#(element)]}"#)
    return AccessibilityRule.findings(in: tree, except: exceptions).map(\.description)
  }

  @Test(
    "a picture has a name, or says that it is decoration",
    arguments: [
      (#"{"type": "image"}"#, false), (#"{"type": "img", "attr": {"src": "a.png"}}"#, false),
      (#"{"type": "image", "attr": {"alt": "A"}}"#, true), (#"{"type": "image", "attr": {"alt": ""}}"#, true),
      (#"{"type": "image", "attr": {"ariaLabel": "A"}}"#, true),
      (#"{"type": "image", "attr": {"ariaHidden": true}}"#, true),
      (#"{"type": "div", "attr": {"aria-hidden": "true"}, "children": [{"type": "image"}]}"#, true),
    ])
  func pictures(_ element: String, _ isFine: Bool) throws {
    let found = try Self.findings(element)
    #expect(
      found
        == (isFine
          ? []
          : [
            "picture-name: div > \(element.contains("img") ? "img" : "image")[1]: the picture has neither \"alt\" nor \"ariaLabel\""
          ]))
  }

  @Test(
    "what can be tapped has a name, and is large enough where its style says it",
    arguments: [
      (#"{"type": "div", "event": ["click"]}"#, ["click-name"]),
      (#"{"type": "div", "event": ["longpress"]}"#, []),
      (#"{"type": "div", "event": ["click"], "children": [{"type": "text", "attr": {"value": "a"}}]}"#, []),
      (#"{"type": "div", "event": ["click"], "attr": {"ariaLabel": "a"}}"#, []),
      (#"{"type": "input", "event": ["click"], "attr": {"placeholder": "a"}}"#, []),
      (#"{"type": "text", "event": ["click"], "attr": {"value": "a"}, "style": {"height": 87.5}}"#, ["touch-size"]),
      (
        #"{"type": "text", "event": ["click"], "attr": {"value": "a"}, "style": {"width": "80px", "height": "60"}}"#,
        ["touch-size", "touch-size"]
      ),
      (#"{"type": "text", "event": ["click"], "attr": {"value": "a"}, "style": {"width": 88, "height": "50%"}}"#, []),
    ])
  func taps(_ element: String, _ rules: [String]) throws {
    #expect(try Self.findings(element).map { String($0.prefix { $0 != ":" }) } == rules)
  }

  @Test(
    "a text has contrast where both colours are known, and a size",
    arguments: [
      (
        ##"{"color": "#777777"}"##, ##"{"backgroundColor": "white"}"##,
        ["contrast: div > text[1]: its contrast is 4.47, expected at least 4.5"]
      ),
      (
        ##"{"color": "#767676"}"##, ##"{"backgroundColor": "#ffffff"}"##,
        []
      ),
      (
        ##"{"color": "black"}"##, ##"{"backgroundColor": "#000"}"##,
        ["contrast: div > text[1]: its contrast is 1, expected at least 4.5"]
      ),
      (
        ##"{"color": "#777777"}"##, ##"{}"##,
        []
      ),
      (
        ##"{}"##, ##"{"backgroundColor": "white"}"##,
        []
      ),
      (
        ##"{"color": "rgba(0, 0, 0, 0.1)"}"##, ##"{"backgroundColor": "white"}"##,
        []
      ),
      (
        ##"{"color": "#777777"}"##,
        ##"{"backgroundColor": "white", "backgroundImage": "linear-gradient(to top, red, blue)"}"##,
        []
      ),
      (
        ##"{"color": "#777777", "opacity": 0.9}"##, ##"{"backgroundColor": "white"}"##,
        []
      ),
      (
        ##"{"color": "#777777", "backgroundColor": "black"}"##, ##"{"backgroundColor": "white"}"##,
        []
      ),
      (
        ##"{"fontSize": 19.5}"##, ##"{}"##,
        ["text-size: div > text[1]: its fontSize is 19.5 units, expected at least 20"]
      ),
      (
        ##"{"fontSize": "20px"}"##, ##"{}"##,
        []
      ),
    ] as [(String, String, [String])])
  func texts(_ style: String, _ around: String, _ findings: [String]) throws {
    let element = #"{"type": "text", "attr": {"value": "a"}, "style": \#(style)}"#
    #expect(try Self.findings(element, style: around) == findings)
  }

  @Test("an exception is for a rule, everywhere or on some elements")
  func exceptions() throws {
    let small = #"{"type": "text", "attr": {"id": "hint", "value": "a"}, "style": {"fontSize": 10}}"#
    func findings(_ rule: AccessibilityRule, _ selector: String?) throws -> Int {
      try Self.findings(small, except: [.init(rule: rule, selector: selector.flatMap { ElementSelector($0) })]).count
    }
    #expect(try findings(.contrast, nil) == 1)
    #expect(try findings(.textSize, nil) == 0)
    #expect(try findings(.textSize, "#hint") == 0)
    #expect(try findings(.textSize, "#other") == 1)
  }
}
