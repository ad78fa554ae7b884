import Foundation
import PageKit
import PageTesting
import TestServers
import TestSupport
import Testing

@testable import RenderHost
@testable import ServerKit

/// The frontend of the installed Chromium shows a page, as it comes from Debian.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct DeveloperToolsTests {
  /// The methods without which the frontend of Chromium 156 does not show a page. A frontend that needs more fails here.
  private static let needed: Set<String> = [
    "DOM.getDocument", "CSS.getMatchedStylesForNode", "Runtime.enable", "Runtime.evaluate", "Debugger.enable",
    "Page.getResourceTree", "Network.enable",
  ]

  /// Opens the frontend for a page, and returns when the panel shows the texts.
  private func running(
    methods: Set<String>?, panel: String, _ body: @escaping @Sendable (PageFarm, String, Frontend) async throws -> Void
  ) async throws {
    try await PageFarm.running(["home": InspectorTests.bundle], change: { $0.inspectsPages = true }) { farm in
      let id = try await farm.open("home")
      var settings = Settings()
      settings.adminTokens = [InspectorTests.token]
      let routes = InspectorRoutes(directory: farm.running.directory, isSecure: false, methods: methods)
      let host = try await LiveHost(settings, adding: { routes.add(to: $0) })
      let list = try RawClient(port: host.port)
      list.send(
        "GET /json/list HTTP/1.1\r\nHost: 127.0.0.1:\(host.port)\r\nAuthorization: Bearer \(InspectorTests.token)\r\n"
          + "Connection: close\r\n\r\n")
      let answer = try await list.readToEnd()
      let pages = try #require(ScriptValue(json: String(answer.drop { $0 != "[" })))
      let url = try #require(pages[0]["devtoolsFrontendUrl"].string)
      try await Frontend.running("\(url)&panel=\(panel)") { try await body(farm, id, $0) }
      try await host.stop()
    }
  }

  @Test("Elements shows the page's elements with the chosen one's style, and each change", arguments: [nil, needed])
  func elements(methods: Set<String>?) async throws {
    try await running(methods: methods, panel: "elements") { farm, id, frontend in
      try await frontend.shows(["<div", "clicks: 0", "background-color"])
      try await frontend.click("clicks: 0")
      try await frontend.shows(["font-size", "40"])
      let tree = try await farm.ask(.get, "/pages/\(id)").json["tree"]
      let ref = try #require(tree["children"].list.first?["ref"].text)
      _ = try await farm.ask(.post, "/pages/\(id)/fire", "{\"ref\":\"\(ref)\",\"type\":\"click\"}")
      try await frontend.shows(["clicks: 1", "x1.png"])
    }
  }

  @Test("a style that is typed into the pane Styles is the page's, and so is an attribute of a row")
  func editing() async throws {
    try await running(methods: nil, panel: "elements") { farm, id, frontend in
      try await frontend.shows(["<div", "clicks: 0", "background-color"])
      try await frontend.click("clicks: 0")
      try await frontend.edit("clicks: 0", to: "edited", clicks: 2)
      let text: @Sendable () async -> JSONValue? = {
        try? await farm.ask(.get, "/pages/\(id)").json["tree"]["children"].list.first
      }
      try await farm.until { await text()?["attr"]["value"].text == "edited" }
      try await frontend.edit("40", to: "44")
      try await farm.until { await text()?["style"]["fontSize"].text == "44" }
      try await frontend.shows(["font-size: 44;", "edited"])
    }
  }

  @Test(
    "the picker of Elements chooses the element that a viewer clicks, and the row under the pointer has a box there")
  func picker() async throws {
    try await running(methods: nil, panel: "elements") { farm, id, frontend in
      let directory = farm.running.directory
      try await frontend.shows(["<div", "clicks: 0", "background-color"])
      let tree = try await farm.ask(.get, "/pages/\(id)").json["tree"]
      let ref = try #require(tree["children"].list.first?["ref"].text)
      try await frontend.pressPicker()
      try await farm.until { try await directory.page(id).overlays?.isPicking == true }
      try await directory.pick(PickedElement(ref: ref, run: nil), of: id)
      // The pane has the style of the chosen element.
      try await frontend.shows(wholly: "40")
      try await farm.until { try await directory.page(id).overlays?.isPicking == false }
      try await frontend.point(at: "clicks: 0")
      let box = Array(#"{"label":"text","picking":false,"ref":"\#(ref)"}"#.utf8)
      try await farm.until { try await directory.page(id).overlays?.json == box }
    }
  }

  @Test("Console shows the page's lines, and the value of what is typed", arguments: [nil, needed])
  func console(methods: Set<String>?) async throws {
    try await running(methods: methods, panel: "console") { _, _, frontend in
      try await frontend.shows(["made"])
      try await frontend.type("n + 40 + 't'")
      try await frontend.shows(["'40t'"])
    }
  }

  @Test("Network shows a row for each request, and which of them the cache has answered", arguments: [nil, needed])
  func network(methods: Set<String>?) async throws {
    try await running(methods: methods, panel: "network") { farm, id, frontend in
      farm.origin.serve("/api", Array("hello".utf8), contentType: "text/plain", headers: [.cacheControl: "max-age=60"])
      try await frontend.shows(["Status"])
      // The panel is shown before the frontend is connected, from when on requests are recorded.
      let log = try await farm.log(of: id)
      try await farm.until { log.watchers > 0 && log.traffic.map { $0.log.watchers > 0 } ?? false }
      let expression =
        "weex.requireModule('stream').fetch({ url: '\(farm.origin.url(for: "/api"))', type: 'text' }, function () {})"
      for expected in ["200", "(disk cache)"] {
        let inspection = PageInspection.evaluate(session: "t", expression, group: "", byValue: false, preview: false)
        _ = try await farm.running.directory.call(id, for: "test", as: .entry) {
          .inspect(call: $0, page: $1, inspection)
        }
        try await frontend.shows(["api", expected])
      }
    }
  }
}

/// A document in a headless browser, such as the frontend of Chrome's developer tools.
struct Frontend {
  private let browser: InspectorClient
  private let session: String

  struct Failed: Error, CustomStringConvertible {
    let description: String
  }

  static func running(_ url: String, _ body: (Frontend) async throws -> Void) async throws {
    let folder = try TemporaryDirectory()
    let profile = folder.file("profile")
    let program = try Tool.start(
      "chromium",
      [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--remote-debugging-port=0", "--user-data-dir=\(profile)", "--window-size=1400,1000", "about:blank",
      ])
    do {
      let file = "\(profile)/DevToolsActivePort"
      var lines: [Substring] = []
      let deadline = ContinuousClock.now + .seconds(60)
      // Chromium tells its port by a file alone.
      while lines.count < 2 {
        guard .now < deadline else { throw Failed(description: "Chromium has not started") }
        try await Task.sleep(for: .milliseconds(50))
        lines = ((try? String(contentsOfFile: file, encoding: .utf8)) ?? "").split(separator: "\n")
      }
      let browser = try await InspectorClient("ws://127.0.0.1:\(lines[0])\(lines[1])")
      let target = try await browser.ask("Target.createTarget", ["url": .string(url)])["targetId"]
      let session = try await browser.ask("Target.attachToTarget", ["targetId": target, "flatten": true])["sessionId"]
      try await body(Frontend(browser: browser, session: session.string ?? ""))
    } catch {
      program.send(SIGKILL)
      _ = await program.result()
      throw error
    }
    program.send(SIGTERM)
    _ = await program.result()
  }

  /// Texts and their places, also in shadow trees, without the marks where a line may break.
  private static let walk = """
    function walk (node, found) {
      if (node.nodeType === 3) found.push([node.nodeValue.replace(/\\u200b/g, ''), node.parentNode])
      else if (node.nodeName !== 'STYLE' && node.nodeName !== 'SCRIPT') {
        if (node.shadowRoot) walk(node.shadowRoot, found)
        node.childNodes.forEach(function (child) { walk(child, found) })
      }
      return found
    }
    """

  /// Runs the body of a function, and returns its value.
  @discardableResult
  func evaluate(_ expression: String) async throws -> ScriptValue {
    try await browser.ask(
      "Runtime.evaluate",
      ["expression": .string("(function () { \(Self.walk)\n\(expression) })()"), "returnByValue": true],
      session: session)["result"]["value"]
  }

  private func text() async throws -> String {
    try await evaluate("return walk(document.documentElement, []).map(function (pair) { return pair[0] }).join('')")
      .string ?? ""
  }

  /// Waits until the body of a function returns `true`. An exception counts as `false`.
  func becomes(_ expression: String) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while try await evaluate(expression) != .bool(true) {
      guard .now < deadline else {
        throw Failed(description: "\(expression) is not true: \(try await text().suffix(2_000))")
      }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  /// Waits until all texts are shown.
  func shows(_ texts: [String]) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      let shown = try await text()
      let missing = texts.filter { !shown.contains($0) }
      if missing.isEmpty { return }
      guard .now < deadline else {
        throw Failed(description: "the developer tools do not show \(missing): \(shown.suffix(2_000))")
      }
      try await Task.sleep(for: .milliseconds(100))
    }
  }

  /// Clicks the middle of the first text that contains another.
  func click(_ text: String) async throws {
    guard try await click(where: "pair[0].includes(\(ScriptValue.string(text).jsonText))", count: 1) else {
      throw Failed(description: "the developer tools do not show \(text)")
    }
  }

  /// - Parameters:
  ///   - test: the condition that a pair of a text and its element fits.
  ///   - last: `true` for the last such text.
  /// - Returns: `false` if there is no such text.
  private func click(where test: String, last: Bool = false, count: Int) async throws -> Bool {
    guard let place = try await place(where: test, last: last) else { return false }
    for click in 1...count {
      for type in ["mousePressed", "mouseReleased"] {
        try await browser.ask(
          "Input.dispatchMouseEvent",
          [
            "type": .string(type), "x": place["x"], "y": place["y"], "button": "left",
            "clickCount": .number(Double(click)),
          ], session: session)
      }
    }
    return true
  }

  /// The middle of the element of a text; `nil` if there is no such text.
  private func place(where test: String, last: Bool = false) async throws -> ScriptValue? {
    let place = try await evaluate(
      """
      var pair = walk(document.documentElement, [])\(last ? ".reverse()" : "").find(function (pair) { return \(test) })
      if (!pair) return null
      var box = pair[1].host ? pair[1].host.getBoundingClientRect() : pair[1].getBoundingClientRect()
      return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
      """)
    return place["x"].number == nil ? nil : place
  }

  /// Puts the pointer on the first text that contains another.
  func point(at text: String) async throws {
    guard let place = try await place(where: "pair[0].includes(\(ScriptValue.string(text).jsonText))") else {
      throw Failed(description: "the developer tools do not show \(text)")
    }
    try await browser.ask(
      "Input.dispatchMouseEvent", ["type": "mouseMoved", "x": place["x"], "y": place["y"]], session: session)
  }

  /// Presses the keys that have an element chosen.
  func pressPicker() async throws {
    // Control and shift.
    let modifiers: ScriptValue = 10
    for type in ["keyDown", "keyUp"] {
      try await browser.ask(
        "Input.dispatchKeyEvent",
        [
          "type": .string(type), "key": "C", "code": "KeyC", "windowsVirtualKeyCode": 67, "modifiers": modifiers,
        ], session: session)
    }
  }

  /// Waits until a text is shown by itself.
  func shows(wholly text: String) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while try await place(where: "pair[0] === \(ScriptValue.string(text).jsonText)") == nil {
      guard .now < deadline else { throw Failed(description: "the developer tools do not show \(text) by itself") }
      try await Task.sleep(for: .milliseconds(100))
    }
  }

  /// Puts another text in the place of the last one that is `text`.
  ///
  /// - Parameter clicks: the number of clicks that begin editing.
  func edit(_ text: String, to new: String, clicks: Int = 1) async throws {
    let deadline = ContinuousClock.now + .seconds(60)
    // A panel that is drawn anew at that moment forgets the click.
    while try await !isEditing() {
      guard .now < deadline else { throw Failed(description: "the developer tools do not let \(text) be edited") }
      _ = try await click(where: "pair[0] === \(ScriptValue.string(text).jsonText)", last: true, count: clicks)
      try await Task.sleep(for: .milliseconds(200))
    }
    try await type(new)
  }

  private func isEditing() async throws -> Bool {
    try await evaluate(
      """
      var at = document.activeElement
      while (at && at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement
      return !!at && (at.isContentEditable || at.matches('.text-prompt, .editing'))
      """
    ).bool == true
  }

  /// Types a line into what has the focus.
  func type(_ text: String) async throws {
    try await browser.ask("Input.insertText", ["text": .string(text)], session: session)
    for type in ["keyDown", "keyUp"] {
      try await browser.ask(
        "Input.dispatchKeyEvent",
        [
          "type": .string(type), "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13,
          "text": type == "keyDown" ? "\r" : "",
        ], session: session)
    }
  }
}
