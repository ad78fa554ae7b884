import HTTPTransport
import ScriptEngine
import Testing

@testable import PageInspector
@testable import PageRuntime

/// A session, and the elements as a debugger knows them from its messages.
final class Debugger {
  struct Node: Equatable {
    var name: String
    var attributes: [String: String]
    /// `nil` if they were not sent.
    var children: [Int]?
    var count: Int
  }

  var session: InspectorSession
  var tree = ElementTree()
  var box: ScriptValue = .null
  /// The answers to evaluations and to properties.
  var value: ScriptValue = ["result": ["type": "undefined"]]
  private(set) var nodes: [Int: Node] = [:]
  private(set) var root: Int?
  private(set) var messages: [ScriptValue] = []
  private(set) var questions: [InspectorQuestion] = []
  private var last = 0
  /// The overlays that the page's viewers were told to show.
  var overlays: [InspectedOverlay] {
    questions.compactMap { if case .overlay(let overlay) = $0 { overlay } else { nil } }
  }
  /// The edits that the page was asked for.
  var edits: [PageInspection] {
    questions.compactMap { if case .page(let inspection) = $0, case .edit = inspection { inspection } else { nil } }
  }

  init(_ source: String = "var a = 1", methods: Set<String>? = nil) {
    session = InspectorSession(
      id: "s1", script: InspectedScript(source, at: "https://a.example/b/home.js"), methods: methods)
  }

  /// Sends a request, and returns its answer.
  func ask(_ method: String, _ params: ScriptValue = [:]) throws -> ScriptValue {
    last += 1
    let id = last
    take(
      session.receive(
        ScriptValue.object(["id": ScriptValue(id), "method": .string(method), "params": params]).json.text))
    return try #require(messages.last { $0["id"].int == id }, "\(method) was not answered")
  }

  func send(_ text: String) -> ScriptValue? {
    let before = messages.count
    take(session.receive(Array(text.utf8)))
    return messages.count > before ? messages.last : nil
  }

  func hear(_ news: InspectorNews) { take(session.receive(news, at: 1_000)) }

  /// The events of a method, the latest last.
  func events(_ method: String) -> [ScriptValue] {
    messages.filter { $0["method"].string == method }.map { $0["params"] }
  }

  func forgetMessages() { messages = [] }

  /// Carries actions out, and answers questions at once.
  private func take(_ actions: [InspectorAction]) {
    var waiting = actions[...]
    while let action = waiting.popFirst() {
      switch action {
      case .send(let text):
        guard let value = ScriptValue(json: String(decoding: text, as: UTF8.self)) else {
          Issue.record("a message is not JSON")
          continue
        }
        messages.append(value)
        follow(value)
      case .ask(let number, let question):
        questions.append(question)
        waiting += session.receive(answer(to: question), to: number)[...]
      }
    }
  }

  private func answer(to question: InspectorQuestion) -> InspectorAnswer {
    switch question {
    case .page(.tree): .tree(tree)
    case .page(.box): .value(box)
    case .page(.evaluate), .page(.call), .page(.properties): .value(value)
    case .page(.release): .value([:])
    case .page(.edit(let ref, let attributes, let style)): .value(edit(ref, attributes, style))
    case .source: .text("the source")
    case .body(let request):
      request == "text" ? .body(Array("body".utf8)) : request == "bytes" ? .body([0xFF]) : .failed("gone")
    case .reload, .overlay: .done
    }
  }

  /// Changes an element, as a page does for its debuggers.
  private func edit(_ ref: String, _ attributes: [String: JSONValue], _ style: [String: JSONValue]) -> ScriptValue {
    do {
      try tree.apply(.updateAttributes(ref, attributes.mapValues { ScriptValue($0) }))
      try tree.apply(.updateStyle(ref, style.mapValues { ScriptValue($0) }))
      return [:]
    } catch {
      return ["refused": .string("\(error)")]
    }
  }

  private func follow(_ message: ScriptValue) {
    let params = message["params"]
    switch message["method"].string {
    case nil:
      let document = message["result"]["root"]
      guard document["nodeType"].int == 9 else { return }
      nodes = [:]
      root = document["children"][0]["nodeId"].int
      add(document["children"][0])
    case "DOM.setChildNodes":
      guard let parent = params["parentId"].int else { return }
      nodes[parent]?.children = params["nodes"].array?.compactMap { $0["nodeId"].int }
      for node in params["nodes"].array ?? [] { add(node) }
    case "DOM.childNodeInserted":
      guard let parent = params["parentNodeId"].int, let previous = params["previousNodeId"].int,
        let number = params["node"]["nodeId"].int
      else { return }
      let place = previous == 0 ? 0 : (nodes[parent]?.children?.firstIndex(of: previous) ?? -2) + 1
      #expect(place >= 0, "the node before is unknown")
      nodes[parent]?.children?.insert(number, at: max(place, 0))
      nodes[parent]?.count += 1
      add(params["node"])
    case "DOM.childNodeRemoved":
      guard let parent = params["parentNodeId"].int, let number = params["nodeId"].int else { return }
      #expect(nodes[number] != nil && nodes[parent] != nil)
      nodes[parent]?.children?.removeAll { $0 == number }
      nodes[parent]?.count -= 1
      forget(number)
    case "DOM.childNodeCountUpdated":
      guard let number = params["nodeId"].int else { return }
      nodes[number]?.count = params["childNodeCount"].int ?? -1
    case "DOM.attributeModified":
      guard let number = params["nodeId"].int, let name = params["name"].string else { return }
      #expect(nodes[number] != nil)
      nodes[number]?.attributes[name] = params["value"].string
    case "DOM.attributeRemoved":
      guard let number = params["nodeId"].int, let name = params["name"].string else { return }
      nodes[number]?.attributes[name] = nil
    case "DOM.documentUpdated": (nodes, root) = ([:], nil)
    default: break
    }
  }

  private func add(_ value: ScriptValue) {
    guard let number = value["nodeId"].int else { return }
    let list = (value["attributes"].array ?? []).compactMap(\.string)
    var attributes: [String: String] = [:]
    for index in stride(from: 0, to: list.count - 1, by: 2) { attributes[list[index]] = list[index + 1] }
    #expect(nodes[number] == nil, "a number is used twice")
    nodes[number] = Node(
      name: value["nodeName"].string ?? "", attributes: attributes,
      children: value["children"].array?.compactMap { $0["nodeId"].int }, count: value["childNodeCount"].int ?? -1)
    for child in value["children"].array ?? [] { add(child) }
  }

  private func forget(_ number: Int) {
    guard let node = nodes.removeValue(forKey: number) else { return }
    for child in node.children ?? [] { forget(child) }
  }

  /// Asks for children until it has all elements.
  func expandAll() throws {
    while let (number, _) = nodes.first(where: { $0.value.children == nil && $0.value.count > 0 }) {
      _ = try ask("DOM.requestChildNodes", ["nodeId": ScriptValue(number)])
    }
  }

  /// The number of an element by its ref.
  func number(of ref: String) -> Int? { nodes.first { $0.value.attributes["data-ref"] == ref }?.key }

  /// The elements as lines, with the children that the debugger has.
  func outline(_ number: Int? = nil, depth: Int = 0) -> [String] {
    guard let number = number ?? root, let node = nodes[number] else { return [] }
    let attributes = node.attributes.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    return [String(repeating: " ", count: depth) + node.name + attributes]
      + (node.children ?? []).flatMap { outline($0, depth: depth + 1) }
  }
}

extension ElementTree {
  static func make(_ body: ElementDescription) throws -> ElementTree {
    var tree = ElementTree()
    try tree.apply(.createBody(body))
    return tree
  }

  /// The elements as ``Debugger/outline(_:depth:)`` has them.
  var inspectedOutline: [String] {
    (root.map { preorder(from: $0) } ?? []).map { element in
      let attributes = InspectedElements.attributes(of: element).sorted { $0.name < $1.name }
      return String(repeating: " ", count: element.depth) + element.type
        + attributes.map { " \($0.name)=\($0.value)" }.joined()
    }
  }
}
