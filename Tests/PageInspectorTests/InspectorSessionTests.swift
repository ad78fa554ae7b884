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
    #expect(
      style["cssProperties"].array == [
        ["name": "background-color", "value": "red"], ["name": "width", "value": "750"],
      ])
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
    hear(.began(method: "GET", fields: []))
    #expect(debugger.events("Network.requestWillBeSent").isEmpty)
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
      "CSS.getComputedStyleForNode": "nodeId", "Debugger.getScriptSource": "scriptId", "Runtime.evaluate": "expression",
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
        "DOM.requestChildNodes", "DOM.getBoxModel", "CSS.getComputedStyleForNode", "Runtime.getProperties",
        "Runtime.releaseObject", "Debugger.getScriptSource", "Page.reload", "x",
      ]
    let values = [
      "1", "2", "3", "-1", "1e999", "null", "\"s1.1\"", "\"\"", "{}", "[[]]", "true", "\"\\ud800\"",
      "9223372036854775807",
    ]
    let members = ["nodeId", "backendNodeId", "objectId", "expression", "scriptId", "depth", "contextId"]
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
