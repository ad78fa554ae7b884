import HTTPTransport
import ScriptEngine
import Testing

@testable import PageInspector
@testable import PageRuntime

@Suite struct InspectorSessionTests {
  private static func page() throws -> Debugger {
    let debugger = Debugger("var a = 1\n//# sourceMappingURL=home.js.map")
    debugger.tree = try .make(
      ElementDescription(
        ref: "r", type: "div", style: ["width": 750, "backgroundColor": "red"],
        children: [ElementDescription(ref: "t", type: "text", attributes: ["value": "Hi"])]))
    return debugger
  }

  /// The methods without which Chrome's panels do not work.
  static let needed: Set<String> = [
    "DOM.getDocument", "CSS.getMatchedStylesForNode", "Runtime.enable", "Runtime.evaluate", "Debugger.enable",
    "Page.getResourceTree", "Network.enable",
  ]

  @Test("a method that does not exist gets -32601, and never an empty result")
  func unknownMethods() throws {
    let debugger = try Self.page()
    for method in [
      "Accessibility.enable", "Animation.enable", "Audits.enable", "CSS.enable", "DOM.enable", "Debugger.pause",
      "Log.enable",
      "Overlay.enable", "Page.enable", "Page.startScreencast", "Profiler.enable", "ServiceWorker.enable",
      "Target.setAutoAttach", "", "DOM", "dom.getdocument",
    ] {
      let answer = try debugger.ask(method)
      #expect(answer["error"]["code"].int == -32_601, "\(method)")
      #expect(answer["result"] == .undefined)
    }
  }

  @Test("with the seven methods that Chrome needs, the others get -32601")
  func neededMethods() throws {
    let debugger = Debugger(methods: Self.needed)
    for method in Self.needed.sorted() {
      let answer = try debugger.ask(method, ["expression": "1", "nodeId": 9])
      #expect(answer["error"]["code"].int != -32_601, "\(method)")
    }
    #expect(try debugger.ask("DOM.getBoxModel")["error"]["code"].int == -32_601)
  }

  @Test("the styles of an element are its script's, with the fields that the frontend reads")
  func styles() throws {
    let debugger = try Self.page()
    _ = try debugger.ask("DOM.getDocument")
    let answer = try debugger.ask(
      "CSS.getMatchedStylesForNode", ["nodeId": ScriptValue(try #require(debugger.number(of: "r")))])
    let style = answer["result"]["inlineStyle"]
    #expect(style["shorthandEntries"].array == [])
    #expect(style["cssText"].string == "background-color: red; width: 750;")
    #expect(style["styleSheetId"].string?.isEmpty == false && style["range"] == Self.range(0, 34))
    #expect(
      style["cssProperties"].array == [
        [
          "name": "background-color", "value": "red", "text": "background-color: red;", "disabled": false,
          "range": Self.range(0, 22),
        ],
        ["name": "width", "value": "750", "text": "width: 750;", "disabled": false, "range": Self.range(23, 34)],
      ])
  }

  private static func range(_ start: Int, _ end: Int) -> ScriptValue {
    ["startLine": 0, "startColumn": ScriptValue(start), "endLine": 0, "endColumn": ScriptValue(end)]
  }

  /// Has the debugger give an element a style, as its pane does: in place of all that it has.
  private static func setStyle(_ debugger: Debugger, of ref: String, to text: String) throws -> ScriptValue {
    let node: ScriptValue = ["nodeId": ScriptValue(try #require(debugger.number(of: ref)))]
    let style = try debugger.ask("CSS.getMatchedStylesForNode", node)["result"]["inlineStyle"]
    return try debugger.ask(
      "CSS.setStyleTexts",
      ["edits": [["styleSheetId": style["styleSheetId"], "range": style["range"], "text": .string(text)]]])
  }

  @Test("an edited style is the page's, and the debugger keeps its order and what it has switched off")
  func editedStyle() throws {
    let debugger = try Self.page()
    _ = try debugger.ask("DOM.getDocument")
    let number = try #require(debugger.number(of: "r"))
    var style = try Self.setStyle(debugger, of: "r", to: "width: 100px;/* background-color: red; */height: 9;")
    #expect(debugger.tree["r"]?.style == ["width": "100px", "height": "9", "backgroundColor": .null])
    #expect(
      style["result"]["styles"][0]["cssText"].string == "width: 100px; /* background-color: red; */ height: 9;")
    #expect(style["result"]["styles"][0]["cssProperties"][1]["disabled"].bool == true)
    #expect(debugger.nodes[number]?.attributes["style"] == "height: 9; width: 100px;")
    // A property that only another order or a comment has is nothing to the page.
    let edits = debugger.edits.count
    _ = try Self.setStyle(debugger, of: "r", to: "height: 9;width: 100px;/* background-color: blue; */")
    #expect(debugger.edits.count == edits)
    // What the page sets meanwhile stays, in the place that it has.
    try debugger.tree.apply(.updateStyle("r", ["width": 5, "color": "green"]))
    debugger.hear(.elements)
    style = try Self.setStyle(debugger, of: "r", to: "height: 8; width: 5; /* background-color: blue; */ color: green;")
    #expect(debugger.edits.last == .edit(ref: "r", attributes: [:], style: ["height": .string("8")]))
    #expect(
      style["result"]["styles"][0]["cssText"].string
        == "height: 8; width: 5; /* background-color: blue; */ color: green;")
    style = try Self.setStyle(debugger, of: "r", to: "background-color: blue;")
    #expect(debugger.tree["r"]?.style["backgroundColor"] == "blue" && debugger.tree["r"]?.style["height"] == .null)
  }

  @Test("a style that cannot be read, and one of an element that is gone, is refused with a sentence")
  func refusedStyle() throws {
    let debugger = try Self.page()
    _ = try debugger.ask("DOM.getDocument")
    let refused = try Self.setStyle(debugger, of: "r", to: "width 100px")
    #expect(
      refused["error"]["message"].string == "\"width 100px\" is not a declaration such as \"color: red\"")
    #expect(debugger.edits.isEmpty)
    let edit: ScriptValue = ["styleSheetId": "style.2", "range": Self.range(0, 34), "text": "width: 1;"]
    for (edits, expected): (ScriptValue, String) in [
      ([edit, edit], "the request has 2 edits, and one style is edited at a time"), ([], "the request has 0 edits"),
      ("x", "the parameter \"edits\" is missing, or is not a list"),
      ([["styleSheetId": "style.99", "range": Self.range(0, 0), "text": ""]], "there is no element with this style"),
      ([["styleSheetId": "style.2", "range": Self.range(0, 99), "text": ""]], "one line of 34 characters"),
      ([["styleSheetId": "style.2", "range": Self.range(0, 34)]], "the parameter \"text\" of the edit is missing"),
    ] {
      let message = try debugger.ask("CSS.setStyleTexts", ["edits": edits])["error"]["message"].string ?? ""
      #expect(message.contains(expected), "\(message)")
    }
    try debugger.tree.apply(.removeElement("t"))
    let gone = try Self.setStyle(debugger, of: "t", to: "width: 1")
    #expect(gone["error"]["message"].string == "there is no element t")
  }

  @Test("attributes are set, renamed and taken away, with values of the kind that they had")
  func attributes() throws {
    let debugger = try Self.page()
    debugger.tree = try .make(
      ElementDescription(
        ref: "r", type: "switch", attributes: ["checked": true, "n": 1, "title": "a"], events: ["click"]))
    _ = try debugger.ask("DOM.getDocument")
    let node = ScriptValue(try #require(debugger.number(of: "r")))
    func set(_ text: String, _ name: String) throws -> ScriptValue {
      try debugger.ask("DOM.setAttributesAsText", ["nodeId": node, "text": .string(text), "name": .string(name)])
    }
    #expect(try set("checked=\"false\"", "checked")["result"].object == [:])
    #expect(debugger.tree["r"]?.attributes["checked"] == false)
    #expect(debugger.events("DOM.attributeModified").last?["value"].string == "false")
    _ = try set("n=\"2\"", "n")
    _ = try set("name=\"b\"", "title")
    #expect(debugger.tree["r"]?.attributes == ["checked": false, "n": 2, "title": .null, "name": "b"])
    #expect(debugger.events("DOM.attributeRemoved").last?["name"].string == "title")
    _ = try debugger.ask("DOM.setAttributeValue", ["nodeId": node, "name": "style", "value": "color: red"])
    #expect(debugger.tree["r"]?.style == ["color": "red"])
    _ = try debugger.ask("DOM.removeAttribute", ["nodeId": node, "name": "style"])
    #expect(debugger.tree["r"]?.style == ["color": .null])
    let edits = debugger.edits.count
    _ = try debugger.ask("DOM.removeAttribute", ["nodeId": node, "name": "nothing"])
    _ = try set("data-ref=\"r\" data-events=\"click\"", "")
    for refused in ["data-ref=\"x\"", "data-events", "style=\"red\"", "<a>", "a=\"1"] {
      #expect(try set(refused, "")["error"]["code"].int == -32_000, "\(refused)")
    }
    #expect(
      try debugger.ask("DOM.removeAttribute", ["nodeId": node, "name": "data-ref"])["error"]["code"].int == -32_000)
    #expect(debugger.edits.count == edits)
    debugger.hear(.elements)
    #expect(debugger.outline() == debugger.tree.inspectedOutline)
  }

  /// A row of elements, each in the one before.
  private static func deepPage() throws -> Debugger {
    let debugger = try page()
    var element = ElementDescription(ref: "e9", type: "text", attributes: ["value": "Deep"])
    for depth in (0..<9).reversed() { element = ElementDescription(ref: "e\(depth)", type: "div", children: [element]) }
    debugger.tree = try .make(element)
    return debugger
  }

  @Test("the element under the pointer has a box in the viewers, until the pointer leaves it")
  func highlight() throws {
    let debugger = try Self.page()
    _ = try debugger.ask("DOM.getDocument")
    let number = ScriptValue(try #require(debugger.number(of: "t")))
    #expect(
      try debugger.ask("Overlay.highlightNode", ["nodeId": number, "highlightConfig": [:]])["result"].object == [:])
    #expect(debugger.overlays.last?.ref == "t" && debugger.overlays.last?.label == "text")
    _ = try debugger.ask("Overlay.highlightNode", ["backendNodeId": number])
    #expect(debugger.overlays.count == 1)
    _ = try debugger.ask("Overlay.hideHighlight")
    #expect(debugger.overlays.last == InspectedOverlay())
    _ = try debugger.ask("Overlay.highlightNode", ["nodeId": number])
    _ = try debugger.ask("Overlay.highlightNode", ["nodeId": 1])
    #expect(debugger.overlays.last == InspectedOverlay() && debugger.overlays.count == 4)
    #expect(try debugger.ask("Overlay.highlightNode", ["nodeId": 99])["error"]["code"].int == -32_000)
    _ = try debugger.ask("Overlay.highlightNode", ["nodeId": number])
    debugger.hear(.replaced(debugger.session.script))
    #expect(debugger.overlays.last == InspectedOverlay())
  }

  @Test("the overlay of viewers follows the pointer one step at a time, and ends with the session")
  func overlaysInTurn() throws {
    var session = try Self.page().session
    func overlays(_ actions: [InspectorAction]) -> [(number: Int, overlay: InspectedOverlay)] {
      actions.compactMap { if case .ask(let number, .overlay(let overlay)) = $0 { (number, overlay) } else { nil } }
    }
    func mode(_ name: String) -> [UInt8] {
      Array(#"{"id":1,"method":"Overlay.setInspectMode","params":{"mode":"\#(name)"}}"#.utf8)
    }
    let first = overlays(session.receive(mode("searchForNode")))
    #expect(first.map(\.overlay.isPicking) == [true])
    for name in ["none", "searchForNode", "none"] { #expect(overlays(session.receive(mode(name))).isEmpty) }
    let second = overlays(session.receive(.done, to: try #require(first.first?.number)))
    #expect(second.map(\.overlay.isPicking) == [false])
    #expect(overlays(session.receive(.failed("gone"), to: try #require(second.first?.number))).isEmpty)
    #expect(overlays(session.end()).isEmpty)
    _ = session.receive(mode("searchForNode"))
    #expect(overlays(session.end()).map(\.overlay) == [InspectedOverlay()])
  }

  @Test("an element that a viewer has chosen is told with all above it, once, and only to those who wait for it")
  func picker() throws {
    let debugger = try Self.deepPage()
    _ = try debugger.ask("DOM.getDocument")
    #expect(debugger.number(of: "e9") == nil)
    debugger.hear(.picked("e9"))
    #expect(debugger.events("Overlay.inspectNodeRequested").isEmpty)
    _ = try debugger.ask("Overlay.setInspectMode", ["mode": "searchForNode", "highlightConfig": [:]])
    #expect(debugger.overlays.last?.isPicking == true)
    debugger.hear(.picked("e9"))
    #expect(debugger.overlays.last?.isPicking == false)
    let number = try #require(debugger.number(of: "e9"))
    #expect(debugger.events("Overlay.inspectNodeRequested") == [["backendNodeId": ScriptValue(number)]])
    #expect(debugger.outline() == debugger.tree.inspectedOutline)
    let pushed = try debugger.ask(
      "DOM.pushNodesByBackendIdsToFrontend", ["backendNodeIds": [ScriptValue(number), 1, 999, "x", -1, 1e300]])
    #expect(pushed["result"]["nodeIds"].array == [ScriptValue(number), 1, 0, 0, 0, 0])
    debugger.hear(.picked("e9"))
    #expect(debugger.events("Overlay.inspectNodeRequested").count == 1)
    // An element that the debugger has not heard of yet, and one of an embedded page that it does not have.
    for ref in ["new", "new/7/8"] {
      _ = try debugger.ask("Overlay.setInspectMode", ["mode": "searchForUAShadowDOM"])
      if ref == "new" {
        try debugger.tree.apply(
          .addElement(parent: "e0", ElementDescription(ref: "new", type: "embed"), index: nil))
      }
      debugger.hear(.picked(ref))
      let new = try #require(debugger.number(of: "new"))
      #expect(debugger.events("Overlay.inspectNodeRequested").last == ["backendNodeId": ScriptValue(new)])
    }
    _ = try debugger.ask("Overlay.setInspectMode", ["mode": "searchForNode"])
    debugger.hear(.picked("nothing"))
    #expect(debugger.events("Overlay.inspectNodeRequested").count == 3)
    for mode: ScriptValue in ["captureAreaScreenshot", "", 1, .null] {
      #expect(try debugger.ask("Overlay.setInspectMode", ["mode": mode])["error"]["code"].int ?? 0 < 0)
    }
    let many = ScriptValue.array([ScriptValue](repeating: 1, count: 1_001))
    let refused = try debugger.ask("DOM.pushNodesByBackendIdsToFrontend", ["backendNodeIds": many])
    #expect(refused["error"]["message"].string == "the request names 1001 nodes; the limit is 1000")
  }

  @Test("boxes and computed styles come from the layout")
  func boxes() throws {
    let debugger = try Self.page()
    _ = try debugger.ask("DOM.getDocument")
    let node: ScriptValue = ["nodeId": ScriptValue(try #require(debugger.number(of: "r")))]
    #expect(try debugger.ask("DOM.getBoxModel", node)["error"]["code"].int == -32_000)
    debugger.box = [
      "x": 10, "y": 20, "width": 100, "height": 50, "border": [1, 2, 3, 4], "padding": [5, 6, 7, 8],
    ]
    let model = try debugger.ask("DOM.getBoxModel", node)["result"]["model"]
    #expect(model["border"].array == [10, 20, 110, 20, 110, 70, 10, 70])
    #expect(model["padding"].array == [14, 21, 108, 21, 108, 67, 14, 67])
    #expect(model["content"].array == [22, 26, 102, 26, 102, 60, 22, 60])
    let styles = try debugger.ask("CSS.getComputedStyleForNode", node)["result"]["computedStyle"].array ?? []
    #expect(styles.contains(["name": "width", "value": "80px"]))
    #expect(styles.contains(["name": "background-color", "value": "red"]))
    #expect(styles.contains(["name": "padding-left", "value": "8px"]))
  }

  @Test("a function is called on an object or the page's context, with arguments by value and by their objects")
  func functions() throws {
    let debugger = try Self.page()
    debugger.value = ["result": ["type": "number", "value": 3]]
    let answer = try debugger.ask(
      "Runtime.callFunctionOn",
      [
        "functionDeclaration": "function (a) { return a }", "objectId": "s1.1",
        "arguments": [["value": 1], ["objectId": "s1.2"], ["unserializableValue": "-0"], [:]], "objectGroup": "console",
        "generatePreview": true,
      ])
    #expect(answer["result"]["result"]["value"].int == 3)
    let arguments: ScriptValue = [["value": 1], ["objectId": "s1.2"], ["unserializableValue": "-0"], [:]]
    #expect(
      debugger.questions.last
        == .page(
          .call(
            session: "s1", "function (a) { return a }", on: "s1.1", arguments: arguments.json, group: "console",
            byValue: false, preview: true)))
    _ = try debugger.ask(
      "Runtime.callFunctionOn", ["functionDeclaration": "f", "executionContextId": 1, "returnByValue": true])
    #expect(
      debugger.questions.last
        == .page(
          .call(session: "s1", "f", on: nil, arguments: .array([]), group: nil, byValue: true, preview: false)))
    debugger.value = .null
    let gone = try debugger.ask("Runtime.callFunctionOn", ["functionDeclaration": "f", "objectId": "s1.9"])
    #expect(gone["error"]["message"].string == "the object is no longer kept")
    let asked = debugger.questions.count
    let long = ScriptValue.string(String(repeating: "x", count: 300_000))
    for (params, expected): (ScriptValue, String) in [
      (["functionDeclaration": "f"], "Cannot find context"),
      (["objectId": "s1.1"], "\"functionDeclaration\" is missing"),
      (["functionDeclaration": "f", "executionContextId": 7], "Cannot find context"),
      (["functionDeclaration": "f", "objectId": "s2.1"], "no object of this objectId"),
      (
        ["functionDeclaration": "f", "objectId": "s1.1", "arguments": "x"], "\"arguments\" is missing, or is not a list"
      ),
      (["functionDeclaration": "f", "objectId": "s1.1", "arguments": [1]], "not an object with its value"),
      (["functionDeclaration": "f", "objectId": "s1.1", "arguments": [["objectId": "s2.1"]]], "no object of this"),
      (["functionDeclaration": long, "objectId": "s1.1"], "300000 bytes; the limit is 262144"),
      (
        [
          "functionDeclaration": "f", "objectId": "s1.1",
          "arguments": .array([ScriptValue](repeating: [:], count: 101)),
        ], "101 arguments; the limit is 100"
      ),
    ] {
      let message = try debugger.ask("Runtime.callFunctionOn", params)["error"]["message"].string ?? ""
      #expect(message.contains(expected), "\(message)")
    }
    let refused = try debugger.ask(
      "Runtime.callFunctionOn", ["functionDeclaration": "f", "objectId": "s1.1", "throwOnSideEffect": true])
    #expect(refused["result"]["exceptionDetails"]["text"].string == "Uncaught")
    #expect(debugger.questions.count == asked)
  }

  @Test("lines of the console wait until the debugger wants them")
  func console() throws {
    let debugger = try Self.page()
    debugger.hear(.log(level: "warn", text: "early"))
    #expect(debugger.events("Runtime.consoleAPICalled").isEmpty)
    _ = try debugger.ask("Runtime.enable")
    debugger.hear(.log(level: "log", text: "late"))
    let lines = debugger.events("Runtime.consoleAPICalled")
    #expect(lines.map { $0["type"].string } == ["warning", "log"])
    #expect(lines.map { $0["args"][0]["value"].string } == ["early", "late"])
    #expect(debugger.events("Runtime.executionContextCreated")[0]["context"]["id"].int == 1)
    let crowded = try Self.page()
    for index in 0..<1_500 { crowded.hear(.log(level: "log", text: "\(index)")) }
    _ = try crowded.ask("Runtime.enable")
    #expect(crowded.events("Runtime.consoleAPICalled").count == 1_000)
  }

  @Test("an exception has its calls as V8 writes them")
  func exceptions() throws {
    let debugger = try Self.page()
    _ = try debugger.ask("Runtime.enable")
    let stack = """
      inner@https://a.example/b/home.js:3:7
      https://a.example/b/home.js:9:1
      forEach@[native code]
      global code@https://a.example/b/home.js:12:5
      """
    debugger.hear(.exception(ScriptException(message: "TypeError: no", stack: stack)))
    let details = try #require(debugger.events("Runtime.exceptionThrown").first)["exceptionDetails"]
    #expect(
      details["exception"]["description"].string == """
        TypeError: no
            at inner (https://a.example/b/home.js:3:7)
            at https://a.example/b/home.js:9:1
            at global code (https://a.example/b/home.js:12:5)
        """)
    #expect(details["exception"]["className"].string == "TypeError")
    #expect(details["lineNumber"].int == 2 && details["columnNumber"].int == 6)
    #expect(details["url"].string == "https://a.example/b/home.js")
    #expect(details["stackTrace"]["callFrames"].array?.count == 3)
    debugger.hear(.exception(ScriptException(message: "boom", url: "x.js", line: .max, column: .min)))
    #expect(debugger.events("Runtime.exceptionThrown").count == 2)
  }

  @Test("an expression is evaluated in the page, unless it must have no effect")
  func evaluation() throws {
    let debugger = try Self.page()
    debugger.value = ["result": ["type": "number", "value": 2]]
    let answer = try debugger.ask(
      "Runtime.evaluate", ["expression": "1+1", "objectGroup": "console", "generatePreview": true, "contextId": 1])
    #expect(answer["result"]["result"]["value"].int == 2)
    #expect(
      debugger.questions == [
        .page(.evaluate(session: "s1", "1+1", group: "console", byValue: false, preview: true))
      ])
    let refused = try debugger.ask("Runtime.evaluate", ["expression": "a()", "throwOnSideEffect": true])
    #expect(refused["result"]["exceptionDetails"]["exception"]["className"].string == "EvalError")
    #expect(try debugger.ask("Runtime.evaluate", ["expression": "1", "contextId": 2])["error"]["code"].int == -32_000)
    #expect(try debugger.ask("Runtime.evaluate", ["expression": 1])["error"]["code"].int == -32_602)
    #expect(debugger.questions.count == 1)
    debugger.value = ["thrown": ["message": "ReferenceError: b", "stack": "global code@x.js:1:2"]]
    let thrown = try debugger.ask("Runtime.evaluate", ["expression": "b"])["result"]
    #expect(thrown["result"]["subtype"] == "error" && thrown["exceptionDetails"]["text"] == "Uncaught")
  }

  @Test("only the session's own objects are read and released")
  func handles() throws {
    let debugger = try Self.page()
    debugger.value = [
      "result": [
        ["name": "a", "value": ["type": "object", "subtype": "error", "description": "E: x", "stack": "f@u:1:2"]]
      ]
    ]
    let found = try debugger.ask("Runtime.getProperties", ["objectId": "s1.4", "ownProperties": true])["result"]
    #expect(found["result"][0]["value"]["description"].string == "E: x\n    at f (u:1:2)")
    #expect(
      try debugger.ask("Runtime.getProperties", ["objectId": "s1.4", "accessorPropertiesOnly": true])["result"][
        "result"] == [])
    for handle: ScriptValue in ["s2.4", "", "s1", 4, .null, .string("s1." + String(repeating: "9", count: 1_000))] {
      for method in ["Runtime.getProperties", "Runtime.releaseObject"] {
        #expect(try debugger.ask(method, ["objectId": handle])["error"]["code"].int ?? 0 < 0)
      }
    }
    #expect(debugger.questions.count == 1)
    debugger.value = .null
    #expect(try debugger.ask("Runtime.getProperties", ["objectId": "s1.4"])["error"]["code"].int == -32_000)
    _ = try debugger.ask("Runtime.releaseObjectGroup", ["objectGroup": "console"])
    #expect(debugger.questions.last == .page(.release(session: "s1", handle: nil, group: "console")))
  }

  @Test("the script has an absolute URL of its source map, and its text when it is asked for")
  func scripts() throws {
    let debugger = try Self.page()
    _ = try debugger.ask("Debugger.enable")
    let script = try #require(debugger.events("Debugger.scriptParsed").first)
    #expect(script["url"].string == "https://a.example/b/home.js")
    #expect(script["sourceMapURL"].string == "https://a.example/b/home.js.map")
    #expect(script["endLine"].int == 2)
    let source = try debugger.ask("Debugger.getScriptSource", ["scriptId": script["scriptId"]])
    #expect(source["result"]["scriptSource"].string == "the source")
    #expect(try debugger.ask("Debugger.getScriptSource", ["scriptId": "99"])["error"]["code"].int == -32_000)
    let frames = try debugger.ask("Page.getResourceTree")["result"]["frameTree"]
    #expect(frames["frame"]["url"] == script["url"] && frames["resources"][0]["type"] == "Script")
    #expect(InspectedScript("//# sourceMappingURL=data:x,y", at: "https://a.example/").sourceMap == "data:x,y")
  }

  @Test("a request of the page is told with its response, and one that the cache answers counts as read from disk")
  func requests() throws {
    let debugger = try Self.page()
    func hear(_ step: InspectedExchange.Step, isFromCache: Bool = false) {
      debugger.hear(
        .exchange(
          InspectedExchange(
            id: "r1", url: "https://a.example/x", type: "fetch", isFromCache: isFromCache, time: 2_000, step)))
    }
    _ = try debugger.ask("Network.enable")
    hear(.began(method: "POST", fields: [["A", "1"], ["A", "2"], ["odd"]]))
    hear(
      .answered(status: 200, fields: [["Cache-Status", "PageKit; hit"]], mediaType: "text/plain"), isFromCache: true)
    hear(.ended(bytes: 5), isFromCache: true)
    hear(.failed("no"))
    let request = try #require(debugger.events("Network.requestWillBeSent").first)
    #expect(request["request"]["method"].string == "POST" && request["request"]["headers"]["A"].string == "1\n2")
    let response = try #require(debugger.events("Network.responseReceived").first)
    #expect(response["type"].string == "Fetch" && response["response"]["fromDiskCache"].bool == true)
    #expect(response["response"]["headers"]["Cache-Status"].string == "PageKit; hit")
    #expect(debugger.events("Network.loadingFinished")[0]["encodedDataLength"].int == 0)
    #expect(debugger.events("Network.loadingFailed")[0]["errorText"].string == "no")
    #expect(
      try debugger.ask("Network.getResponseBody", ["requestId": "text"])["result"] == [
        "body": "body", "base64Encoded": false,
      ])
    #expect(
      try debugger.ask("Network.getResponseBody", ["requestId": "bytes"])["result"] == [
        "body": "/w==", "base64Encoded": true,
      ])
    #expect(try debugger.ask("Network.getResponseBody", ["requestId": "x"])["error"]["code"].int == -32_000)
    #expect(try debugger.ask("Network.getResponseBody", ["requestId": 1])["error"]["code"].int == -32_602)
  }

  @Test("steps of requests wait until the debugger wants them, the newest 300")
  func earlyRequests() throws {
    let debugger = try Self.page()
    for number in 1...301 {
      debugger.hear(
        .exchange(
          InspectedExchange(
            id: "r\(number)", url: "https://a.example/x", type: "fetch", isFromCache: false, time: 2_000,
            .began(method: "GET", fields: []))))
    }
    #expect(debugger.events("Network.requestWillBeSent").isEmpty)
    for _ in 1...2 { _ = try debugger.ask("Network.enable") }
    let told = debugger.events("Network.requestWillBeSent").map { $0["requestId"].string }
    #expect(told == (2...301).map { "r\($0)" })
  }

  @Test("a page that begins anew has another context, script and document, over the same session")
  func reload() throws {
    let debugger = try Self.page()
    for method in ["Runtime.enable", "Debugger.enable", "DOM.getDocument"] { _ = try debugger.ask(method) }
    #expect(try debugger.ask("Page.reload")["result"].object == [:])
    #expect(debugger.questions.last == .reload)
    debugger.hear(.replaced(InspectedScript("var b", at: "https://a.example/b/home.js")))
    #expect(debugger.events("Runtime.executionContextsCleared").count == 1)
    #expect(debugger.events("Runtime.executionContextCreated").map { $0["context"]["id"].int } == [1, 2])
    #expect(debugger.events("Debugger.scriptParsed").map { $0["scriptId"].string } == ["1", "2"])
    #expect(debugger.events("DOM.documentUpdated").count == 1)
    _ = try debugger.ask("DOM.getDocument")
    #expect(debugger.outline() == debugger.tree.inspectedOutline)
  }

  @Test("messages that are no requests get an error, and change nothing")
  func hostileMessages() throws {
    let debugger = try Self.page()
    _ = try debugger.ask("DOM.getDocument")
    let deep = String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)
    let texts: [(String, Int)] = [
      ("", -32_700), ("{", -32_700), ("\u{0}", -32_700), (deep, -32_700),
      ("{\"id\":1,\"method\":\"DOM.getDocument\",\"params\":\(deep)}", -32_700),
      ("[" + String(repeating: "1,", count: 200_000) + "1]", -32_700),
      ("[]", -32_600), ("null", -32_600), ("{}", -32_600), (#"{"id":"1","method":"DOM.getDocument"}"#, -32_600),
      (#"{"id":-1,"method":"DOM.getDocument"}"#, -32_600), (#"{"id":1e300,"method":"DOM.getDocument"}"#, -32_600),
      (#"{"id":1}"#, -32_600), (#"{"id":1,"method":{}}"#, -32_600),
      (#"{"id":1,"method":"DOM.getDocument","sessionId":"other"}"#, -32_001),
      (#"{"id":1,"method":"\#(String(repeating: "x", count: 100_000))"}"#, -32_601),
    ]
    for (text, code) in texts {
      let answer = try #require(debugger.send(text))
      #expect(answer["error"]["code"].int == code, "\(text.prefix(60))")
      #expect(answer.json.text.count < 1_000)
    }
    #expect(debugger.outline() == debugger.tree.inspectedOutline)
  }

  @Test("parameters of wrong types, and numbers of unknown nodes, get an error")
  func wrongParameters() throws {
    let debugger = try Self.page()
    _ = try debugger.ask("DOM.getDocument")
    let values: [ScriptValue] = [.null, "a", true, 1.5, 1e300, -1e300, -1, 0, 999_999, [], [:], ["a": [1]]]
    let names = [
      "DOM.requestChildNodes": "nodeId", "DOM.getBoxModel": "nodeId", "CSS.getMatchedStylesForNode": "nodeId",
      "CSS.getComputedStyleForNode": "nodeId", "CSS.setStyleTexts": "edits", "DOM.setAttributeValue": "nodeId",
      "DOM.setAttributesAsText": "nodeId", "DOM.removeAttribute": "nodeId",
      "Overlay.setInspectMode": "mode",
      "Overlay.highlightNode": "nodeId", "Debugger.getScriptSource": "scriptId",
      "Runtime.evaluate": "expression",
      "Runtime.getProperties": "objectId", "Runtime.releaseObjectGroup": "objectGroup",
    ]
    for (method, name) in names {
      for value in values where !(value == "a" && ["expression", "objectGroup"].contains(name)) {
        #expect(try debugger.ask(method, [name: value])["error"]["code"].int ?? 0 < 0, "\(method) \(value)")
      }
      #expect(try debugger.ask(method, "a")["error"]["code"].int ?? 0 < 0, "\(method)")
    }
  }

  @Test("10,000 random messages end nothing")
  func randomMessages() throws {
    var random = SplitMix(state: 11)
    let debugger = try Self.page()
    let methods =
      Self.needed.sorted() + [
        "DOM.requestChildNodes", "DOM.getBoxModel", "CSS.getComputedStyleForNode", "CSS.setStyleTexts",
        "DOM.setAttributeValue", "DOM.setAttributesAsText", "DOM.removeAttribute", "Runtime.getProperties",
        "Runtime.releaseObject", "Debugger.getScriptSource", "Page.reload", "x",
      ]
    let values = [
      "1", "2", "3", "-1", "1e999", "null", "\"s1.1\"", "\"\"", "{}", "[[]]", "true", "\"\\ud800\"",
      "9223372036854775807", "\"color: red\"", "\"a='b'\"", "\"style\"", "\"searchForNode\"", "[2, 3, null]",
      "[{\"styleSheetId\":\"style.2\",\"text\":\"top: 1\",\"range\":{\"startLine\":0,\"startColumn\":0,\"endLine\":0,\"endColumn\":3}}]",
    ]
    let members = [
      "nodeId", "backendNodeId", "objectId", "expression", "scriptId", "depth", "contextId", "edits", "text", "name",
      "value", "mode", "backendNodeIds", "functionDeclaration", "executionContextId", "arguments",
    ]
    for id in 0..<10_000 {
      let params = (0..<Int.random(in: 0...3, using: &random)).map { _ in
        "\"\(members.randomElement(using: &random) ?? "")\":\(values.randomElement(using: &random) ?? "")"
      }
      var text = Array(
        "{\"id\":\(id),\"method\":\"\(methods.randomElement(using: &random) ?? "")\",\"params\":{\(params.joined(separator: ","))}}"
          .utf8)
      if id % 4 == 0, !text.isEmpty {
        text[Int.random(in: text.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      _ = debugger.send(String(decoding: text, as: UTF8.self))
      if id % 50 == 0 { debugger.hear(.picked(["t", "r", "x/y", ""].randomElement(using: &random) ?? "")) }
      debugger.forgetMessages()
    }
    #expect(try debugger.ask("DOM.getDocument")["result"]["root"]["nodeId"].int == 1)
  }

  @Test("a debugger whose requests are not answered by the page may have as many as the limit")
  func waitingRequests() throws {
    var session = InspectorSession(id: "s", script: InspectedScript("", at: "u"))
    var (asked, refused) = (0, 0)
    for id in 0..<200 {
      for action in session.receive(
        Array(#"{"id":\#(id),"method":"Runtime.evaluate","params":{"expression":"1"}}"#.utf8))
      {
        switch action {
        case .ask: asked += 1
        case .send: refused += 1
        }
      }
    }
    #expect(asked == InspectorSession.questionLimit && asked + refused == 200)
  }
}
