import HTTPTransport
import PageRuntime
import ScriptEngine

/// The session of one debugger with one page: answers its messages, and tells it what happens. A pure value.
///
/// Methods that it does not have get the error -32601, never an empty result: Chrome's frontend goes on without a method, but
/// reads the members of a result.
package struct InspectorSession: Sendable {
  /// The id, by which the page keeps objects for it. The handles of the objects begin with it.
  package let id: String
  /// The methods that are answered; `nil` for all. Tests find out with it what a new frontend needs.
  let methods: Set<String>?
  private(set) var script: InspectedScript
  var elements = InspectedElements()
  /// The number of the page's context; another one when the page begins anew.
  private(set) var context = 1
  /// The requests that wait for an answer to a question.
  private var waiting: [Int: Waiting] = [:]
  private var lastQuestion = 0
  /// The requests that wait for the elements.
  private var documents: [Int] = []
  private var asksTree = false
  private var isTreeOld = false
  /// `true` once the debugger has the document.
  private var showsElements = false
  /// The news for a debugger that has not asked for them yet.
  private var console: [ScriptValue] = []
  private var showsConsole = false
  private var showsScripts = false
  private var requests: [InspectedExchange] = []
  private var showsRequests = false
  private var lastException = 0
  /// The overlay that the page's viewers are to show, and the one that they were told of last.
  private var (overlay, toldOverlay) = (InspectedOverlay(), InspectedOverlay())
  private var asksOverlay = false
  /// The element that a viewer has chosen, until the debugger has the elements of now.
  private var picked: String?
  private var actions: [InspectorAction] = []

  /// The largest number of questions that wait for an answer.
  package static let questionLimit = 64
  /// The largest number of numbers that a request names.
  private static let numberLimit = 1_000
  /// The largest number of lines of the console that are kept for a debugger that does not want them yet.
  private static let lineLimit = 1_000
  /// The largest number of steps of requests that are kept for such a debugger. A request has three.
  private static let stepLimit = 300

  /// The request that waits for an answer of the page.
  private enum Waiting {
    case tree
    case release
    case overlay
    case reload(Int)
    case box(Int)
    case computedStyle(Int, ref: String)
    case evaluation(Int)
    case properties(Int)
    case source(Int)
    case body(Int)
    case edit(Int, InspectedEdit)
  }

  /// - Parameters:
  ///   - id: letters and digits, which no other session has.
  ///   - methods: the methods that are answered; `nil` for all.
  package init(id: String, script: InspectedScript, methods: Set<String>? = nil) {
    (self.id, self.script, self.methods) = (id, script, methods)
  }

  // MARK: What comes in

  /// Takes a message of the debugger.
  package mutating func receive(_ message: [UInt8]) -> [InspectorAction] {
    collect { session in
      var id: Int?
      do {
        let request = try InspectorRequest(message)
        id = request.id
        try session.perform(request)
      } catch let fault as InspectorFault {
        session.actions.append(.send(fault.text(for: id)))
      } catch {}
    }
  }

  /// Takes the answer to a question.
  package mutating func receive(_ answer: InspectorAnswer, to question: Int) -> [InspectorAction] {
    collect { session in
      guard let waiting = session.waiting.removeValue(forKey: question) else { return }
      session.finish(waiting, answer)
    }
  }

  /// Takes what has happened to the page.
  ///
  /// - Parameter time: the milliseconds since 1970.
  package mutating func receive(_ news: InspectorNews, at time: Double) -> [InspectorAction] {
    collect { session in
      switch news {
      case .elements: session.elementsChanged()
      case .missed(let count):
        session.elementsChanged()
        session.log("warning", "\(count) events of the page were left out, since they were too many", at: time)
      case .log(let level, let text): session.log(level, text, at: time)
      case .exception(let exception): session.report(exception, at: time)
      case .exchange(let exchange): session.tell(exchange)
      case .picked(let ref): session.pick(ref)
      case .replaced(let script): session.replace(by: script)
      }
    }
  }

  /// The actions when the session ends: the page keeps no objects for it, and viewers show nothing of it.
  package mutating func end() -> [InspectorAction] {
    collect { session in
      session.ask(.page(.release(session: session.id, handle: nil, group: nil)), .release, isLast: true)
      if session.toldOverlay != InspectedOverlay() { session.ask(.overlay(InspectedOverlay()), .overlay, isLast: true) }
    }
  }

  /// The message that the page has ended.
  static let detached = Array(#"{"method":"Inspector.detached","params":{"reason":"target_closed"}}"#.utf8)

  private mutating func collect(_ body: (inout Self) -> Void) -> [InspectorAction] {
    body(&self)
    defer { actions = [] }
    return actions
  }

  // MARK: What goes out

  private mutating func reply(_ id: Int, _ result: ScriptValue = [:]) {
    actions.append(.send(ScriptValue.object(["id": ScriptValue(id), "result": result]).json.text))
  }

  private mutating func fail(_ id: Int, _ reason: String) {
    actions.append(.send(InspectorFault(.failed, reason, id: id).text()))
  }

  private mutating func tell(_ method: String, _ params: ScriptValue) {
    actions.append(.send(ScriptValue.object(["method": .string(method), "params": params]).json.text))
  }

  private mutating func ask(_ question: InspectorQuestion, _ waiting: Waiting, isLast: Bool = false) {
    lastQuestion += 1
    if !isLast { self.waiting[lastQuestion] = waiting }
    actions.append(.ask(lastQuestion, question))
  }

  // MARK: Requests

  private mutating func perform(_ request: InspectorRequest) throws(InspectorFault) {
    let (id, params) = (request.id, request.params)
    guard methods?.contains(request.method) ?? true else { throw Self.unknown(request.method) }
    guard waiting.count < Self.questionLimit else {
      throw InspectorFault(.failed, "\(Self.questionLimit) requests wait for the page, which is the limit")
    }
    switch request.method {
    case "DOM.getDocument":
      guard documents.count < Self.questionLimit else {
        throw InspectorFault(.failed, "\(Self.questionLimit) requests wait for the document, which is the limit")
      }
      documents.append(id)
      askTree()
    case "DOM.requestChildNodes":
      guard let nodes = elements.children(of: params["nodeId"].int) else { throw Self.unknownNode }
      tell("DOM.setChildNodes", ["parentId": params["nodeId"], "nodes": nodes])
      reply(id)
    case "DOM.getBoxModel":
      let element = try element(params)
      ask(.page(.box(ref: element.ref)), .box(id))
    case "CSS.getMatchedStylesForNode", "CSS.getInlineStylesForNode":
      reply(id, ["inlineStyle": elements.style(of: try element(params))])
    case "CSS.setStyleTexts":
      guard let edits = params["edits"].array else { throw Self.missing("edits", "a list") }
      guard edits.count == 1 else {
        throw InspectorFault(.failed, "the request has \(edits.count) edits, and one style is edited at a time")
      }
      try make(elements.edit(edits[0]), for: id)
    case "DOM.setAttributeValue":
      let element = try element(params)
      guard let name = params["name"].string else { throw Self.missing("name") }
      guard let value = params["value"].string else { throw Self.missing("value") }
      try InspectedEdit.check(name)
      try make(elements.edit(element, setting: [(name, value)]), for: id)
    case "DOM.setAttributesAsText":
      let element = try element(params)
      guard let text = params["text"].string else { throw Self.missing("text") }
      try make(
        elements.edit(element, setting: try InspectedEdit.attributes(in: text), removing: params["name"].string),
        for: id)
    case "DOM.removeAttribute":
      let element = try element(params)
      guard let name = params["name"].string else { throw Self.missing("name") }
      try make(elements.edit(element, setting: [], removing: name), for: id)
    case "CSS.getComputedStyleForNode":
      let element = try element(params)
      ask(.page(.box(ref: element.ref)), .computedStyle(id, ref: element.ref))
    case "DOM.pushNodesByBackendIdsToFrontend":
      guard let numbers = params["backendNodeIds"].array else { throw Self.missing("backendNodeIds", "a list") }
      guard numbers.count <= Self.numberLimit else {
        throw InspectorFault(.failed, "the request names \(numbers.count) nodes; the limit is \(Self.numberLimit)")
      }
      // The numbers of the backend are the debugger's. 0 is none.
      let known = numbers.map { $0.int == InspectedElements.document || elements.element($0.int) != nil }
      reply(id, ["nodeIds": .array(zip(numbers, known).map { $1 ? $0 : 0 })])
    case "Overlay.setInspectMode":
      guard let mode = params["mode"].string else { throw Self.missing("mode") }
      guard ["searchForNode", "searchForUAShadowDOM", "none"].contains(mode) else {
        throw InspectorFault(.failed, "viewers have no mode \(mode.quotedForMessage): they choose elements, or do not")
      }
      overlay.isPicking = mode != "none"
      tellOverlay()
      reply(id)
    case "Overlay.highlightNode":
      let number = params["nodeId"].int ?? params["backendNodeId"].int
      let shown = number == InspectedElements.document ? nil : try element(params)
      (overlay.ref, overlay.label) = (shown?.ref, shown?.type ?? "")
      tellOverlay()
      reply(id)
    case "Overlay.hideHighlight":
      (overlay.ref, overlay.label) = (nil, "")
      tellOverlay()
      reply(id)
    case "Runtime.enable":
      tellContext()
      showsConsole = true
      for line in console { actions.append(.send(line.json.text)) }
      console = []
      reply(id)
    case "Runtime.evaluate": try evaluate(request)
    case "Runtime.callFunctionOn": try call(request)
    case "Runtime.getProperties":
      let handle = try handle(params)
      // An accessor is among the object's own properties; it is not called.
      guard params["accessorPropertiesOnly"].bool != true else { return reply(id, ["result": []]) }
      let preview = params["generatePreview"].bool ?? false
      let withIndexes = !(params["nonIndexedPropertiesOnly"].bool ?? false)
      ask(
        .page(.properties(session: self.id, handle: handle, preview: preview, withIndexes: withIndexes)),
        .properties(id))
    case "Runtime.releaseObject":
      ask(.page(.release(session: self.id, handle: try handle(params), group: nil)), .release)
      reply(id)
    case "Runtime.releaseObjectGroup":
      guard let group = params["objectGroup"].string else { throw Self.missing("objectGroup") }
      ask(.page(.release(session: self.id, handle: nil, group: group)), .release)
      reply(id)
    case "Debugger.enable":
      showsScripts = true
      tellScript()
      reply(id, ["debuggerId": .string(self.id)])
    case "Debugger.getScriptSource":
      guard params["scriptId"].string == scriptID else {
        throw InspectorFault(.failed, "there is no script of this scriptId")
      }
      ask(.source, .source(id))
    case "Page.getResourceTree":
      reply(id, ["frameTree": ["frame": frame, "resources": [resource]]])
    case "Page.reload": ask(.reload, .reload(id))
    case "Network.enable":
      showsRequests = true
      for step in requests { tell(step) }
      requests = []
      reply(id)
    case "Network.getResponseBody":
      guard let request = params["requestId"].string, request.utf8.count <= 100 else { throw Self.missing("requestId") }
      ask(.body(request), .body(id))
    default: throw Self.unknown(request.method)
    }
  }

  private static func unknown(_ method: String) -> InspectorFault {
    InspectorFault(.unknownMethod, "'\(method.prefix(100))' wasn't found")
  }

  private static func missing(_ name: String, _ kind: String = "a text") -> InspectorFault {
    InspectorFault(.invalidParams, "the parameter \"\(name)\" is missing, or is not \(kind)")
  }

  private static let unknownNode = InspectorFault(.failed, "Could not find node with given id")

  private func element(_ params: ScriptValue) throws(InspectorFault) -> ElementTree.Element {
    guard let element = elements.element(params["nodeId"].int ?? params["backendNodeId"].int) else {
      throw Self.unknownNode
    }
    return element
  }

  private func handle(_ params: ScriptValue) throws(InspectorFault) -> String {
    guard let handle = params["objectId"].string else { throw Self.missing("objectId") }
    guard handle.hasPrefix(id + "."), handle.utf8.count <= 200 else {
      throw InspectorFault(.failed, "there is no object of this objectId")
    }
    return handle
  }

  // MARK: Answers

  private mutating func finish(_ waiting: Waiting, _ answer: InspectorAnswer) {
    if case .failed(let reason) = answer {
      switch waiting {
      case .tree: treeFailed(reason)
      case .release: break
      case .overlay: asksOverlay = false
      case .reload(let id), .box(let id), .computedStyle(let id, _), .evaluation(let id), .properties(let id),
        .source(let id), .body(let id), .edit(let id, _):
        fail(id, reason)
      }
      return
    }
    switch (waiting, answer) {
    case (.tree, .tree(let tree)): show(tree)
    case (.box(let id), .value(let value)):
      guard let box = InspectedBox(value) else { return fail(id, "Could not compute box model.") }
      reply(id, ["model": box.model])
    case (.computedStyle(let id, let ref), .value(let value)):
      reply(id, ["computedStyle": Self.computedStyle(of: elements.tree[ref], InspectedBox(value))])
    case (.evaluation(let id), .value(.null)): fail(id, "the object is no longer kept")
    case (.evaluation(let id), .value(let value)): reply(id, evaluationResult(value))
    case (.properties(let id), .value(let value)): finishProperties(id, value)
    case (.source(let id), .text(let text)): reply(id, ["scriptSource": .string(text)])
    case (.body(let id), .body(let bytes)):
      if let text = String(validating: bytes, as: UTF8.self) {
        reply(id, ["body": .string(text), "base64Encoded": false])
      } else {
        reply(id, ["body": .data(bytes), "base64Encoded": true])
      }
    case (.reload(let id), _): reply(id)
    case (.edit(let id, let edit), .value(let value)):
      if let refusal = value["refused"].string { fail(id, refusal) } else { finish(edit, for: id) }
    case (.tree, _): treeFailed("the elements cannot be read")
    case (.box(let id), _), (.computedStyle(let id, _), _), (.evaluation(let id), _), (.properties(let id), _),
      (.source(let id), _), (.body(let id), _), (.edit(let id, _), _):
      fail(id, "the page's answer cannot be read")
    case (.release, _): break
    case (.overlay, _):
      asksOverlay = false
      tellOverlay()
    }
  }

  // MARK: Elements

  private mutating func askTree() {
    guard !asksTree else {
      isTreeOld = true
      return
    }
    (asksTree, isTreeOld) = (true, false)
    ask(.page(.tree), .tree)
  }

  private mutating func elementsChanged() {
    if showsElements { askTree() }
  }

  private mutating func show(_ tree: ElementTree) {
    asksTree = false
    if documents.isEmpty {
      // The page has begun anew, and the debugger has not asked again.
      guard showsElements else { return }
      if let events = elements.update(to: tree) {
        for event in events { tell(event.method, event.params) }
      } else {
        forgetDocument()
      }
    } else {
      showsElements = true
      for id in documents { reply(id, ["root": elements.show(tree, url: script.url)]) }
      documents = []
    }
    // It has changed while it was asked for.
    if isTreeOld { askTree() }
    if showsElements, let ref = picked {
      picked = nil
      reveal(ref)
    }
  }

  /// Has the debugger ask for the document again.
  private mutating func forgetDocument() {
    showsElements = false
    tell("DOM.documentUpdated", [:])
  }

  private mutating func treeFailed(_ reason: String) {
    asksTree = false
    for id in documents { fail(id, reason) }
    documents = []
  }

  /// Has the page make an edit.
  private mutating func make(_ edit: InspectedEdit, for id: Int) {
    guard let question = edit.question else { return finish(edit, for: id) }
    ask(.page(question), .edit(id, edit))
  }

  private mutating func finish(_ edit: InspectedEdit, for id: Int) {
    if let events = elements.take(edit) {
      for event in events { tell(event.method, event.params) }
    } else {
      forgetDocument()
    }
    guard edit.isOfStyle else { return reply(id) }
    guard let element = elements.tree[edit.ref] else { return fail(id, Self.unknownNode.message) }
    reply(id, ["styles": [elements.style(of: element)]])
  }

  private static func computedStyle(of element: ElementTree.Element?, _ box: InspectedBox?) -> ScriptValue {
    var style = box?.style ?? [:]
    let own = element.map { InspectedElements.declarations(of: $0) } ?? []
    for declaration in own where style[declaration.name] == nil { style[declaration.name] = declaration.value }
    return .array(
      style.sorted { $0.key < $1.key }.map { ["name": .string($0.key), "value": .string($0.value)] })
  }

  // MARK: Viewers

  /// Has viewers show what the debugger wants, one thing after the other.
  private mutating func tellOverlay() {
    guard !asksOverlay, overlay != toldOverlay else { return }
    (asksOverlay, toldOverlay) = (true, overlay)
    ask(.overlay(overlay), .overlay)
  }

  private mutating func pick(_ ref: String) {
    guard overlay.isPicking else { return }
    overlay.isPicking = false
    tellOverlay()
    // The viewer may have seen the element before the debugger.
    picked = ref
    askTree()
  }

  /// Has the debugger choose an element of a viewer's document.
  private mutating func reveal(_ ref: String) {
    // In an embedded page that the debugger does not have, the nearest element around it.
    var ref = ref
    while elements.tree[ref] == nil, let end = ref.lastIndex(of: "/") { ref = String(ref[..<end]) }
    guard let (events, number) = elements.reveal(ref) else { return }
    for event in events { tell(event.method, event.params) }
    tell("Overlay.inspectNodeRequested", ["backendNodeId": ScriptValue(number)])
  }

  // MARK: Scripts

  private var scriptID: String { "\(context)" }

  private mutating func tellContext() {
    tell(
      "Runtime.executionContextCreated",
      [
        "context": [
          "id": ScriptValue(context), "origin": .string(script.url), "name": "page",
          "uniqueId": .string("\(id).\(context)"),
          "auxData": ["isDefault": true, "type": "default", "frameId": .string(id)],
        ]
      ])
  }

  private mutating func tellScript() {
    var params: [String: ScriptValue] = [
      "scriptId": .string(scriptID), "url": .string(script.url), "startLine": 0, "startColumn": 0,
      "endLine": ScriptValue(script.lines), "endColumn": 0, "executionContextId": ScriptValue(context), "hash": "",
      "buildId": "", "length": ScriptValue(script.length), "scriptLanguage": "JavaScript", "isModule": false,
      "executionContextAuxData": ["isDefault": true, "type": "default", "frameId": .string(id)],
    ]
    if !script.sourceMap.isEmpty { params["sourceMapURL"] = .string(script.sourceMap) }
    tell("Debugger.scriptParsed", .object(params))
  }

  private var frame: ScriptValue {
    [
      "id": .string(id), "loaderId": .string("\(id).\(context)"), "url": .string(script.url),
      "domainAndRegistry": "", "securityOrigin": .string(PageURL(script.url)?.origin ?? ""), "mimeType": "text/html",
    ]
  }

  private var resource: ScriptValue {
    [
      "url": .string(script.url), "type": "Script", "mimeType": "text/javascript",
      "contentSize": ScriptValue(script.length),
    ]
  }

  private mutating func evaluate(_ request: InspectorRequest) throws(InspectorFault) {
    let params = request.params
    guard let expression = params["expression"].string else { throw Self.missing("expression") }
    if !params["contextId"].isNothing, params["contextId"].int != context {
      throw InspectorFault(.failed, "Cannot find context with specified id")
    }
    guard params["throwOnSideEffect"].bool != true else { return refuseSideEffects(request) }
    ask(
      .page(
        .evaluate(
          session: id, expression, group: params["objectGroup"].string ?? "",
          byValue: params["returnByValue"].bool ?? false, preview: params["generatePreview"].bool ?? false)),
      .evaluation(request.id))
  }

  /// Answers as the browser does for a script with side effects: they are not known before it has run.
  private mutating func refuseSideEffects(_ request: InspectorRequest) {
    let refusal = evaluationResult(["thrown": ["message": "EvalError: Possible side-effect in debug-evaluate"]])
    reply(request.id, refusal)
  }

  /// The largest length of a function's text in bytes, and the largest number of its arguments.
  private static let (functionLimit, argumentLimit) = (256 << 10, 100)

  private mutating func call(_ request: InspectorRequest) throws(InspectorFault) {
    let params = request.params
    guard let function = params["functionDeclaration"].string else { throw Self.missing("functionDeclaration") }
    guard function.utf8.count <= Self.functionLimit else {
      throw InspectorFault(
        .failed, "the function has \(function.utf8.count) bytes; the limit is \(Self.functionLimit)")
    }
    let target = params["objectId"].isNothing ? nil : try handle(params)
    guard target != nil || params["executionContextId"].int == context else {
      throw InspectorFault(.failed, "Cannot find context with specified id")
    }
    guard let arguments = params["arguments"].isNothing ? [] : params["arguments"].array else {
      throw Self.missing("arguments", "a list")
    }
    guard arguments.count <= Self.argumentLimit else {
      throw InspectorFault(.failed, "the call has \(arguments.count) arguments; the limit is \(Self.argumentLimit)")
    }
    for argument in arguments {
      guard argument.object != nil else {
        throw InspectorFault(.invalidParams, "an argument of the call is not an object with its value")
      }
      if !argument["objectId"].isNothing { _ = try handle(argument) }
    }
    guard params["throwOnSideEffect"].bool != true else { return refuseSideEffects(request) }
    ask(
      .page(
        .call(
          session: id, function, on: target, arguments: ScriptValue.array(arguments).json,
          group: params["objectGroup"].string, byValue: params["returnByValue"].bool ?? false,
          preview: params["generatePreview"].bool ?? false)),
      .evaluation(request.id))
  }

  private mutating func evaluationResult(_ value: ScriptValue) -> ScriptValue {
    guard value["thrown"].isNothing else {
      let exception = ScriptException(value["thrown"])
      return ["result": exception.remoteObject, "exceptionDetails": details(of: exception, isCaught: true)]
    }
    return ["result": value["result"].withCallsOfErrors]
  }

  private mutating func finishProperties(_ id: Int, _ value: ScriptValue) {
    guard value["thrown"].isNothing else {
      let exception = ScriptException(value["thrown"])
      return reply(id, ["result": [], "exceptionDetails": details(of: exception, isCaught: true)])
    }
    guard case .array = value["result"] else { return fail(id, "the object is no longer kept") }
    reply(id, value.withCallsOfErrors)
  }

  // MARK: Console

  private mutating func log(_ level: String, _ text: String, at time: Double) {
    let types = ["warn": "warning", "log": "log", "info": "info", "error": "error", "debug": "debug"]
    add(
      "Runtime.consoleAPICalled",
      [
        "type": .string(types[level] ?? (level == "warning" ? level : "log")),
        "args": [["type": "string", "value": .string(text)]], "executionContextId": ScriptValue(context),
        "timestamp": .number(time),
      ])
  }

  private mutating func report(_ exception: ScriptException, at time: Double) {
    add(
      "Runtime.exceptionThrown",
      ["timestamp": .number(time), "exceptionDetails": details(of: exception, isCaught: false)])
  }

  private mutating func details(of exception: ScriptException, isCaught: Bool) -> ScriptValue {
    lastException += 1
    let place = exception.located
    var members: [String: ScriptValue] = [
      "exceptionId": ScriptValue(lastException), "text": "Uncaught",
      "lineNumber": ScriptValue(max(place.line ?? 1, 1) - 1),
      "columnNumber": ScriptValue(max(place.column ?? 1, 1) - 1), "exception": exception.remoteObject,
      "executionContextId": ScriptValue(context),
    ]
    let frames = exception.callFrames(of: script.url, scriptID: scriptID)
    if !frames.isEmpty { members["stackTrace"] = ["callFrames": .array(frames)] }
    if let url = place.url, !isCaught || !url.isEmpty { members["url"] = .string(url) }
    return .object(members)
  }

  private mutating func add(_ method: String, _ params: ScriptValue) {
    if showsConsole { return tell(method, params) }
    console.append(["method": .string(method), "params": params])
    if console.count > Self.lineLimit { console.removeFirst() }
  }

  // MARK: Requests of the page

  private mutating func tell(_ exchange: InspectedExchange) {
    guard showsRequests else {
      requests.append(exchange)
      if requests.count > Self.stepLimit { requests.removeFirst() }
      return
    }
    for event in exchange.events(document: script.url, loader: "\(id).\(context)") { tell(event.method, event.params) }
  }

  // MARK: Beginning anew

  private mutating func replace(by new: InspectedScript) {
    script = new
    context += 1
    if showsConsole {
      tell("Runtime.executionContextsCleared", [:])
      tellContext()
    }
    if showsScripts { tellScript() }
    if showsElements { forgetDocument() }
    isTreeOld = asksTree
    (overlay.ref, overlay.label, picked) = (nil, "", nil)
    tellOverlay()
  }
}
