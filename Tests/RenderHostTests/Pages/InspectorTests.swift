import Foundation
import HTTPTypes
import PageKit
import PageTesting
import TestServers
import Testing

@testable import RenderHost

/// Developer tools attach to a page of a running daemon.
@Suite(.timeLimit(.minutes(5)))
struct InspectorTests {
  static let token = "0123456789abcdef"

  /// A page with a counter that logs, throws and grows.
  static let bundle = """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createBody('div', { style: { backgroundColor: '#eeeeee', padding: 20 } }), n = 0
    d.documentElement.appendChild(b)
    var t = d.createElement('text', { attr: { value: 'clicks: 0' }, style: { fontSize: 40, height: 60 } })
    function added () {
      n += 1
      t.setAttr('value', 'clicks: ' + n)
      b.appendChild(d.createElement('image', { attr: { src: 'x' + n + '.png' } }))
      console.log('clicked', n)
      if (n === 2) throw new TypeError('two clicks')
    }
    t.addEvent('click', added)
    b.appendChild(t)
    console.warn('made')
    """

  static func running(
    _ text: String = bundle, more: [String: String] = [:], flags: [String] = ["--inspect-pages"],
    _ body: (Daemon, String) async throws -> Void
  ) async throws {
    let folder = try TemporaryDirectory()
    for (name, text) in more.merging(["home": text], uniquingKeysWith: { $1 }) {
      try DaemonTests.write(text, to: folder.file("bundles/\(name).js"))
    }
    try await Daemon.running(folder.file("bundles"), folder, ["--admin-token", token] + flags) { daemon in
      let opened = try await daemon.post("/pages", #"{"name":"home"}"#)
      let id = try #require(opened.headers["location"]?.split(separator: "/").last)
      try await body(daemon, String(id))
    }
  }

  static func target(_ daemon: Daemon, _ id: String) async throws -> ScriptValue {
    let list = try await daemon.get("/json/list", ["Authorization": "Bearer \(token)"])
    let pages = try #require(ScriptValue(json: list.text)?.array)
    return try #require(pages.first { $0["id"].string == id })
  }

  static func attach(_ daemon: Daemon, _ id: String, fields: HTTPFields = [:]) async throws -> InspectorClient {
    try await InspectorClient(try #require(try await target(daemon, id)["webSocketDebuggerUrl"].string), fields: fields)
  }

  private static func click(_ daemon: Daemon, _ id: String) async throws -> Int {
    let tree = try await daemon.get("/pages/\(id)").text
    let page = try #require(ScriptValue(json: tree))
    let ref = try #require(page["tree"]["children"][0]["ref"].string)
    return try await daemon.post("/pages/\(id)/fire", #"{"ref":"\#(ref)","type":"click"}"#).status
  }

  @Test("developer tools see the elements, their changes, the console, errors and values of a page")
  func session() async throws {
    try await Self.running { daemon, id in
      let client = try await Self.attach(daemon, id, fields: [.origin: "devtools://devtools"])
      let document = try await client.ask("DOM.getDocument")["root"]
      let body = document["children"][0]
      #expect(body["nodeName"].string == "div" && body["children"][0]["nodeName"].string == "text")
      let box = try await client.ask("DOM.getBoxModel", ["nodeId": body["children"][0]["nodeId"]])
      #expect(box["model"]["width"].int == 710 && box["model"]["height"].int == 60)
      try await client.ask("Runtime.enable")
      _ = try await client.event("Runtime.consoleAPICalled") { $0["args"][0]["value"].string == "made" }
      try await client.ask("Debugger.enable")
      let script = try await client.event("Debugger.scriptParsed")
      #expect(script["url"].string == "\(daemon.origin)/bundles/home.js")
      let source = try await client.ask("Debugger.getScriptSource", ["scriptId": script["scriptId"]])
      #expect(source["scriptSource"].string == Self.bundle)

      #expect(try await Self.click(daemon, id) == 200)
      let changed = try await client.event("DOM.attributeModified")
      #expect(changed["nodeId"] == body["children"][0]["nodeId"] && changed["value"].string == "clicks: 1")
      let inserted = try await client.event("DOM.childNodeInserted")
      #expect(inserted["parentNodeId"] == body["nodeId"] && inserted["node"]["nodeName"].string == "image")
      #expect(try await Self.click(daemon, id) == 422)
      let thrown = try await client.event("Runtime.exceptionThrown")["exceptionDetails"]
      let description = thrown["exception"]["description"].string ?? ""
      #expect(
        description.hasPrefix("TypeError: two clicks\n    at added (\(daemon.origin)/bundles/home.js:10:"),
        "\(description)")

      let sum = try await client.ask("Runtime.evaluate", ["expression": "n + 40"])
      #expect(sum["result"]["value"].int == 42)
      let config = try await client.ask(
        "Runtime.evaluate", ["expression": "({ a: { b: [1, 'x'] }, get c () { throw 1 } })", "objectGroup": "console"])
      let object = config["result"]
      #expect(object["type"] == "object" && object["className"] == "Object")
      let members = try await client.ask(
        "Runtime.getProperties", ["objectId": object["objectId"], "ownProperties": true])
      #expect(members["result"].array?.map { $0["name"].string } == ["a", "c"])
      let inner = try await client.ask("Runtime.getProperties", ["objectId": members["result"][0]["value"]["objectId"]])
      #expect(inner["result"][0]["value"]["description"].string == "Array(2)")
      let called = try await client.ask(
        "Runtime.callFunctionOn",
        [
          "functionDeclaration": "function (o, x) { return o === this && n + x }", "objectId": object["objectId"],
          "arguments": [["objectId": object["objectId"]], ["value": 8]],
        ])
      #expect(called["result"]["value"].int == 10)
      try await client.ask("Runtime.releaseObjectGroup", ["objectGroup": "console"])
      let gone = try await client.answer(to: "Runtime.getProperties", ["objectId": object["objectId"]])
      #expect(gone["error"]["code"].int == -32_000)
      let fault = try await client.ask("Runtime.evaluate", ["expression": "nothing()"])
      #expect(fault["exceptionDetails"]["exception"]["className"].string == "ReferenceError")
      #expect(
        try await client.ask("Runtime.evaluate", ["expression": "weex.config.bundleUrl"])["result"]["value"].string
          == "\(daemon.origin)/bundles/home.js")

      // The socket stays over a reload.
      try await client.ask("Page.reload")
      _ = try await client.event("DOM.documentUpdated")
      let again = try await client.ask("DOM.getDocument")["root"]
      #expect(again["children"][0]["children"].array?.count == 1)
      #expect(try await client.ask("Runtime.evaluate", ["expression": "n"])["result"]["value"].int == 0)
    }
  }

  @Test("an edit by developer tools changes the page, its layout and what its viewers see, and other tools hear of it")
  func editing() async throws {
    try await Self.running { daemon, id in
      let client = try await Self.attach(daemon, id)
      let other = try await Self.attach(daemon, id)
      let before = try #require(ScriptValue(json: try await daemon.get("/pages/\(id)/live").text))["view"]
      #expect(before["html"].string?.contains("height:0.8rem") == false)
      let node = try await client.ask("DOM.getDocument")["root"]["children"][0]["children"][0]["nodeId"]
      _ = try await other.ask("DOM.getDocument")
      let style = try await client.ask("CSS.getMatchedStylesForNode", ["nodeId": node])["inlineStyle"]
      #expect(style["cssText"].string == "font-size: 40; height: 60;")
      let edit: ScriptValue = [
        "styleSheetId": style["styleSheetId"], "range": style["range"], "text": "/* font-size: 40; */height: 80px;",
      ]
      let edited = try await client.ask("CSS.setStyleTexts", ["edits": [edit]])["styles"][0]
      #expect(edited["cssText"].string == "/* font-size: 40; */ height: 80px;")
      #expect(try await client.ask("DOM.getBoxModel", ["nodeId": node])["model"]["height"].int == 80)
      _ = try await other.event("DOM.attributeModified") { $0["value"].string == "height: 80px;" }
      try await client.ask(
        "DOM.setAttributesAsText", ["nodeId": node, "name": "value", "text": "value=\"clicks: many\""])
      let after = try #require(ScriptValue(json: try await daemon.get("/pages/\(id)/live").text))["view"]
      #expect(after["html"].string?.contains("height:0.8rem") == true, "\(after)")
      #expect(after["html"].string?.contains("clicks: many") == true)
      #expect(after["number"].int ?? 0 > before["number"].int ?? 0)
      let refused = try await client.answer(to: "CSS.setStyleTexts", ["edits": [["styleSheetId": "style.9"]]])
      #expect(refused["error"]["message"].string == "there is no element with this style")
      // The script's next change counts.
      #expect(try await Self.click(daemon, id) == 200)
      _ = try await client.event("DOM.attributeModified") { $0["value"].string == "clicks: 1" }
    }
  }

  @Test("developer tools have the elements of an embedded page, and hear of its changes")
  func embeddedPage() async throws {
    let home = Script.page(
      "b.appendChild(d.createElement('embed', { attr: { src: 'part.js' }, style: { height: 300 } }))")
    try await Self.running(home, more: ["part": Self.bundle]) { daemon, id in
      let client = try await Self.attach(daemon, id)
      _ = try await client.ask("DOM.getDocument")
      // It may have been opened before or after the debugger has asked.
      let deadline = ContinuousClock.now + .seconds(60)
      var embed = ScriptValue.null
      while embed["children"][0]["childNodeCount"].int ?? 0 == 0 {
        try #require(ContinuousClock.now < deadline, "\(embed)")
        try await Task.sleep(for: .milliseconds(20))
        embed = try await client.ask("DOM.getDocument")["root"]["children"][0]["children"][0]
      }
      let body = embed["children"][0]["nodeId"]
      try await client.ask("DOM.requestChildNodes", ["nodeId": body])
      let text = try await client.event("DOM.setChildNodes") { $0["parentId"] == body }["nodes"][0]
      #expect(embed["nodeName"].string == "embed" && text["nodeName"].string == "text")
      #expect(try await client.ask("DOM.getBoxModel", ["nodeId": text["nodeId"]])["model"]["height"].int == 60)
      let view = try #require(ScriptValue(json: try await daemon.get("/pages/\(id)/live").text))
      let names = (text["attributes"].array ?? []).compactMap(\.string)
      let ref = names[try #require(names.firstIndex(of: "data-ref")) + 1]
      #expect(view["view"]["html"].string?.contains("data-ref=\"\(ref)\"") == true)
      let fired = try await daemon.post(
        "/pages/\(id)/live/events", #"{"events":[{"ref":"\#(ref)","type":"click"}]}"#, ["Origin": daemon.origin])
      #expect(fired.status == 204)
      let changed = try await client.event("DOM.attributeModified") { $0["value"].string == "clicks: 1" }
      #expect(changed["nodeId"] == text["nodeId"])
    }
  }

  @Test("viewers show the box of an element, and a click there chooses one for the developer tools that wait for it")
  func picker() async throws {
    try await Self.running { daemon, id in
      let client = try await Self.attach(daemon, id)
      let view = try #require(ScriptValue(json: try await daemon.get("/pages/\(id)/live").text))
      func watch() throws -> RawClient {
        let stream = try RawClient(port: try daemon.port())
        stream.send(
          "GET /pages/\(id)/live/patches?lastEventId=\(view["position"].int ?? 0) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return stream
      }
      func pick(_ body: String, origin: String = daemon.origin) async throws -> Int {
        try await daemon.post("/pages/\(id)/live/pick", body, ["Origin": origin]).status
      }
      let stream = try watch()
      let text = try await client.ask("DOM.getDocument")["root"]["children"][0]["children"][0]
      let names = text["attributes"].array ?? []
      let place = try #require(names.firstIndex(of: "data-ref"))
      let ref = try #require(names[place + 1].string)
      try await client.ask("Overlay.highlightNode", ["nodeId": text["nodeId"], "highlightConfig": [:]])
      let shown = #"{"label":"text","picking":false,"ref":"\#(ref)"}"#
      let sent = try await stream.read(until: shown)
      #expect(sent.contains("event: overlay\ndata: \(shown)"), "\(sent)")
      // One that comes later, or again, has it too.
      _ = try await watch().read(until: shown)
      #expect(try await pick(#"{"ref":"\#(ref)"}"#) == 400)
      try await client.ask("Overlay.setInspectMode", ["mode": "searchForNode", "highlightConfig": [:]])
      _ = try await watch().read(until: #""picking":true"#)
      #expect(try await pick(#"{"ref":"\#(ref)"}"#, origin: "http://evil.example") == 403)
      #expect(try await pick(#"{"ref":1}"#) == 400)
      #expect(try await pick(#"{"ref":"\#(String(repeating: "x", count: 5_000))"}"#) == 400)
      #expect(try await pick(#"{"ref":"\#(ref)","run":999999}"#) == 409)
      #expect(try await pick(#"{"ref":"\#(ref)","run":\#(view["run"].int ?? -1)}"#) == 204)
      let requested = try await client.event("Overlay.inspectNodeRequested")
      #expect(requested["backendNodeId"] == text["nodeId"])
      let nodes = try await client.ask(
        "DOM.pushNodesByBackendIdsToFrontend", ["backendNodeIds": [requested["backendNodeId"]]])
      #expect(nodes["nodeIds"].array == [text["nodeId"]])
      // What developer tools show ends with them.
      client.close()
      _ = try await watch().read(until: #"{"label":"","picking":false,"ref":null}"#)
    }
  }

  @Test(
    "a request of the page has the cache's own account and its body, and counts as read from disk if the cache answers")
  func requests() async throws {
    let origin = try await FaultOrigin.start()
    origin.serve("/api", Array("hello".utf8), contentType: "text/plain", headers: [.cacheControl: "max-age=60"])
    let url = origin.url(for: "/api")
    let allowed = String(origin.url(for: "/").dropLast())
    try await Self.running(flags: ["--inspect-pages", "--allow-origin", allowed]) { daemon, id in
      let client = try await Self.attach(daemon, id)
      try await client.ask("Network.enable")
      let fetch: ScriptValue = [
        "expression": .string("weex.requireModule('stream').fetch({ url: '\(url)', type: 'text' }, function () {})")
      ]
      try await client.ask("Runtime.evaluate", fetch)
      let first = try await client.event("Network.responseReceived")
      #expect(first["response"]["status"].int == 200 && first["response"]["fromDiskCache"].bool == false)
      let finished = try await client.event("Network.loadingFinished")
      #expect(finished["encodedDataLength"].int == 5)
      let body = try await client.ask("Network.getResponseBody", ["requestId": first["requestId"]])
      #expect(body["body"].string == "hello" && body["base64Encoded"].bool == false)
      try await client.ask("Runtime.evaluate", fetch)
      let second = try await client.event("Network.responseReceived") { $0["response"]["fromDiskCache"].bool == true }
      let status = second["response"]["headers"].object?.first { $0.key.lowercased() == "cache-status" }?.value.string
      #expect(status?.contains("hit") == true, "\(second)")
      let sent = try await client.event("Network.requestWillBeSent") { $0["requestId"] == second["requestId"] }
      #expect(sent["request"]["url"].string == url)
      let refused =
        "weex.requireModule('stream').fetch({ url: 'https://other.example/', type: 'text' }, function () {})"
      try await client.ask("Runtime.evaluate", ["expression": .string(refused)])
      _ = try await client.event("Network.loadingFailed")
      // Another page's developer tools cannot read it.
      let opened = try await daemon.post("/pages", #"{"name":"home"}"#)
      let other = try #require(opened.headers["location"]?.split(separator: "/").last)
      let stranger = try await Self.attach(daemon, String(other))
      let answer = try await stranger.answer(to: "Network.getResponseBody", ["requestId": first["requestId"]])
      #expect(answer["error"]["code"].int == -32_000)
    }
    try await origin.stop()
  }

  @Test("the bodies that are kept have 64 MiB at most, and the oldest go first")
  func bodies() {
    let bodies = RecordedBodies()
    for number in 0..<20 { bodies.add([UInt8](repeating: UInt8(number), count: 5 << 20), for: "\(number)") }
    #expect(bodies["0"] == nil && bodies["7"] == nil && bodies["8"]?.first == 8 && bodies["19"]?.count == 5 << 20)
    bodies.add([UInt8](repeating: 0, count: RecordedBodies.bodyLimit + 1), for: "long")
    #expect(bodies["long"] == nil && bodies["8"] != nil)
  }

  @Test("many short bodies are kept, and dropped, in a time linear in their number", .timeLimit(.minutes(1)))
  func shortBodies() {
    let bodies = RecordedBodies()
    let count = 800_000
    for number in 0..<count { bodies.add([], for: "\(number)") }
    let kept = RecordedBodies.limit / 200
    #expect(bodies["\(count - kept - 1)"] == nil && bodies["\(count - kept)"] != nil && bodies["\(count - 1)"] != nil)
  }

  @Test(
    "an expression that does not end is stopped by the page's limit, and the developer tools learn of the page's end")
  func endlessExpression() async throws {
    try await Self.running(flags: ["--inspect-pages", "--page-time", "0.3"]) { daemon, id in
      let client = try await Self.attach(daemon, id)
      let answer = try? await client.answer(to: "Runtime.evaluate", ["expression": "while (true) {}"])
      #expect(answer?["result"] ?? .undefined == .undefined)
      let end = try await client.end()
      #expect(end == "1000")
      #expect(try await daemon.get("/pages/\(id)").status == 404)
      #expect(try await daemon.post("/pages", #"{"name":"home"}"#).status == 201)
    }
  }

  @Test("neither the list nor a web socket is given without the token, or without --inspect-pages")
  func access() async throws {
    try await Self.running { daemon, id in
      #expect(try await daemon.get("/json/list").status == 401)
      #expect(try await daemon.get("/json/version").status == 401)
      let bearer = ["Authorization": "Bearer \(Self.token)"]
      #expect(try await daemon.get("/json/version", bearer).text.contains("1.3"))
      // A browser's pages do not know the token, but a rule that holds for all is easier to believe.
      #expect(
        try await daemon.get("/json/list", bearer.merging(["Origin": "https://evil.example"]) { $1 }).status == 403)
      let url = try #require(try await Self.target(daemon, id)["webSocketDebuggerUrl"].string)
      #expect(try await daemon.get(String(url.dropFirst("ws://\(daemon.origin.dropFirst(7))".count))).status == 426)
      for (address, fields, status) in [
        (url, [.origin: "https://evil.example"] as HTTPFields, "403"), (url, [.origin: "devtools://evil"], "403"),
        (url, [.origin: "null"], "403"), (String(url.dropLast(64)) + String(repeating: "0", count: 64), [:], "401"),
        (url.replacing("ticket=", with: "t="), [:], "401"), (url.replacing(id, with: "other"), [:], "401"),
      ] {
        await #expect(throws: InspectorClient.Failed.self, "\(address) \(fields)") {
          do {
            _ = try await InspectorClient(address, fields: fields)
          } catch let failure as InspectorClient.Failed {
            #expect(failure.description.contains(status), "\(failure) \(fields)")
            throw failure
          }
        }
      }
      let allowed = try await InspectorClient(url, fields: [.origin: daemon.origin])
      try await allowed.ask("Network.enable")
      let script = try await InspectorClient(
        String(url.prefix { $0 != "?" }), fields: [.authorization: "Bearer \(Self.token)"])
      try await script.ask("Network.enable")
      let raw = try RawClient(port: try daemon.port())
      raw.send(
        "GET \(url.dropFirst("ws://\(daemon.origin.dropFirst(7))".count)) HTTP/1.1\r\nHost: evil.example\r\n\r\n")
      #expect(try await raw.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 421 "))
    }
    try await Self.running(flags: []) { daemon, id in
      for path in ["/json/list", "/devtools/page/\(id)"] {
        let status = try await daemon.get(path, ["Authorization": "Bearer \(Self.token)"]).status
        #expect(status == 404)
      }
    }
  }

  @Test("a public listener inspects no pages, also if it carries administration")
  func publicListener() async throws {
    try await Self.running(flags: ["--inspect-pages", "--admin-listen", "127.0.0.1:0", "--public", "pages,admin"]) {
      daemon, _ in
      let bearer = ["Authorization": "Bearer \(Self.token)"]
      let (shown, administered) = (
        try await daemon.get("/json/list", bearer).status,
        try await daemon.get("/json/list", bearer, at: try await daemon.admin()).status
      )
      #expect(shown == 404 && administered == 200)
    }
  }

  @Test("hostile messages end neither the page nor the daemon")
  func hostileMessages() async throws {
    try await Self.running { daemon, id in
      let deep = String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)
      let client = try await Self.attach(daemon, id)
      for text in ["", "{", deep, "null", #"{"id":1000,"method":"DOM.getDocument","sessionId":"x"}"#, #"{"id":{}}"#] {
        client.send(text)
      }
      client.send([0, 1, 2, 0xFF])
      #expect(try await client.answer(to: "Runtime.getProperties", ["objectId": "1.1"])["error"]["code"].int == -32_000)
      #expect(try await client.answer(to: "Target.setAutoAttach")["error"]["code"].int == -32_601)
      client.send(String(repeating: "x", count: 5 << 20))
      #expect(try await client.end() != "")
      let other = try await Self.attach(daemon, id)
      #expect(try await other.ask("Runtime.evaluate", ["expression": "n"])["result"]["value"].int == 0)
    }
  }

  @Test("64 developer tools attach at once, and the next is refused until one has gone")
  func socketLimit() async throws {
    try await Self.running(flags: ["--inspect-pages", "--connections-per-address", "200"]) { daemon, id in
      var clients: [InspectorClient] = []
      for _ in 0..<InspectorRoutes.socketLimit { clients.append(try await Self.attach(daemon, id)) }
      await #expect(throws: InspectorClient.Failed.self) { _ = try await Self.attach(daemon, id) }
      clients.removeLast().close()
      try await daemon.until("a place is free") {
        try await Self.attach(daemon, id).ask("Network.enable") == [:]
      }
    }
  }
}
