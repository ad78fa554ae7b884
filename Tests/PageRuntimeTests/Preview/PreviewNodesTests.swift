import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// The steps that change a document as a page has changed.
struct PreviewNodesTests {
  private static func tree(_ children: [ElementDescription]) throws -> ElementTree {
    var tree = ElementTree()
    try tree.apply(.createBody(ElementDescription(ref: "_root", type: "div", children: children)))
    return tree
  }

  private static func text(_ ref: String, _ value: String, events: Set<String> = []) -> ElementDescription {
    ElementDescription(ref: ref, type: "text", attributes: ["value": .string(value)], events: events)
  }

  private static func nodes(
    _ tree: ElementTree, _ embedded: [String: HTMLPreview] = [:], reusing former: PreviewNodes = PreviewNodes()
  ) -> PreviewNodes {
    PreviewNodes(HTMLPreview(tree, title: "", embedded: embedded), reusing: former)
  }

  private static func steps(_ old: ElementTree, _ new: ElementTree) -> [PreviewStep] {
    nodes(new).steps(from: nodes(old))
  }

  @Test("the HTML is that of the preview")
  func sameHTML() throws {
    var random = SeededGenerator(seed: 1)
    for _ in 0..<50 {
      let (tree, other) = (try Self.randomTree(&random), try Self.randomTree(&random))
      let embedded = Self.embedded(other, in: tree)
      #expect(Self.nodes(tree, embedded).html == HTMLPreview(tree, title: "", embedded: embedded).body)
    }
  }

  @Test("a document with the steps applied is the new document", arguments: 1...UInt64(300))
  func randomTrees(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let trees = try (0..<3).map { _ in try Self.randomTree(&random) }
    var former = PreviewNodes()
    let document = DocumentModel()
    for (index, tree) in trees.enumerated() {
      let embedded = seed.isMultiple(of: 3) ? Self.embedded(trees[(index + 1) % 3], in: tree) : [:]
      let new = Self.nodes(tree, embedded, reusing: former)
      for step in new.steps(from: former) { try document.apply(step) }
      #expect(document.text == (try DocumentModel(html: new.html)).text)
      #expect(new.steps(from: new).isEmpty)
      former = new
    }
  }

  @Test("a document of another run with the steps applied is the new document", arguments: 1...UInt64(300))
  func otherRun(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let (first, second) = (try Self.randomTree(&random), try Self.randomTree(&random))
    func nodes(_ tree: ElementTree) -> PreviewNodes {
      Self.nodes(tree, seed.isMultiple(of: 3) ? Self.embedded(first, in: tree) : [:])
    }
    let (former, new) = (nodes(first), nodes(second))
    let document = try DocumentModel(html: former.html)
    for step in new.steps(fromOtherRun: former) { try document.apply(step) }
    #expect(document.text == (try DocumentModel(html: new.html)).text)
    // The same elements under other refs only get those.
    let names = Dictionary(
      uniqueKeysWithValues: zip(first.elements.keys.sorted(), first.elements.keys.sorted().shuffled(using: &random)))
    let html = Self.nodes(first).html
    let refs = names.filter { $0.key != $0.value && html.contains("data-ref=\"\($0.key)\"") }
    let steps = Self.nodes(try first.renaming(names)).steps(fromOtherRun: Self.nodes(first))
    #expect(steps == (refs.isEmpty ? [] : [.rename(refs)]))
  }

  @Test("an element that another run has more moves none of the others, whatever their refs are")
  func moreInOtherRun() throws {
    let old = try Self.tree((1...5).map { Self.text("\($0)", "line \($0)") })
    let new = try Self.tree(
      [Self.text("1", "line 1"), Self.text("2", "new")] + (2...5).map { Self.text("\($0 + 1)", "line \($0)") })
    let steps = Self.nodes(new).steps(fromOtherRun: Self.nodes(old))
    let html = #"<div data-ref="2" class="w-text">new</div>"#
    #expect(
      steps == [.rename(["2": "3", "3": "4", "4": "5", "5": "6"]), .insert(html, into: "_root", before: "3")])
    #expect(
      Self.nodes(old).steps(fromOtherRun: Self.nodes(new))
        == [.remove("2"), .rename(["3": "2", "4": "3", "5": "4", "6": "5"])])
  }

  @Test("where fewer elements are left, those that can be changed stay")
  func fewerInOtherRun() throws {
    func field(_ ref: String) -> ElementDescription { ElementDescription(ref: ref, type: "input") }
    let old = try Self.tree([Self.text("1", "a"), Self.text("2", "b"), field("3")])
    let new = try Self.tree([Self.text("1", "c"), ElementDescription(ref: "2", type: "input", events: ["input"])])
    #expect(
      Self.nodes(new).steps(fromOtherRun: Self.nodes(old)) == [
        .remove("2"), .rename(["3": "2"]), .text("1", "c"), .change("2", ["data-events": "input"]),
      ])
  }

  @Test("a text that changes is one step")
  func changedText() throws {
    let old = try Self.tree([Self.text("1", "a"), Self.text("2", "b")])
    let new = try Self.tree([Self.text("1", "a"), Self.text("2", "<c>")])
    #expect(Self.steps(old, new) == [.text("2", "<c>")])
  }

  @Test("attributes are set and removed")
  func changedAttributes() throws {
    let old = try Self.tree([Self.text("1", "a", events: ["click"])])
    var new = old
    try new.apply(.removeEvent("1", type: "click"))
    try new.apply(.updateStyle("1", ["color": "red"]))
    #expect(Self.steps(old, new) == [.change("1", ["style": "color:red", "data-events": nil])])
  }

  @Test("an element that moves in a long list is one step, and the others stay")
  func moved() throws {
    let texts = (0..<100).map { Self.text("\($0)", "\($0)") }
    let old = try Self.tree(texts)
    let new = try Self.tree([texts[99]] + texts.dropLast())
    #expect(Self.steps(old, new) == [.move("99", into: "_root", before: "0")])
    #expect(Self.steps(new, old) == [.move("99", into: "_root", before: nil)])
  }

  @Test("elements come and go one by one")
  func addedAndRemoved() throws {
    let texts = (0..<3).map { Self.text("\($0)", "x") }
    let (two, three) = (try Self.tree([texts[0], texts[2]]), try Self.tree(texts))
    let html = #"<div data-ref="1" class="w-text">x</div>"#
    #expect(Self.steps(two, three) == [.insert(html, into: "_root", before: "2")])
    #expect(Self.steps(three, two) == [.remove("1")])
  }

  @Test("an element of another tag is made anew, and so is a waterfall with other columns")
  func otherTag() throws {
    func image(_ source: String) throws -> ElementTree {
      try Self.tree([ElementDescription(ref: "1", type: "image", attributes: ["src": .string(source)])])
    }
    let steps = Self.steps(try image(""), try image("a.png"))
    #expect(steps.count == 2 && steps.first == .remove("1"))
    func waterfall(_ count: Double) throws -> ElementTree {
      try Self.tree([ElementDescription(ref: "1", type: "waterfall", attributes: ["columnCount": .number(count)])])
    }
    #expect(Self.steps(try waterfall(2), try waterfall(3)).count == 2)
  }

  @Test("a slide that another one replaces is hidden")
  func slides() throws {
    func slider(_ index: Double) throws -> ElementTree {
      try Self.tree([
        ElementDescription(
          ref: "s", type: "slider", attributes: ["index": .number(index)],
          children: [Self.text("1", "a"), Self.text("2", "b")])
      ])
    }
    #expect(
      Set(Self.steps(try slider(0), try slider(1)))
        == [.change("1", ["data-slide": "hidden"]), .change("2", ["data-slide": nil])])
  }

  @Test("a page whose refs look like those of an embedded page ends")
  func doubleRefs() throws {
    let outer = try Self.tree([
      ElementDescription(ref: "a", type: "embed"), ElementDescription(ref: "a/_root", type: "div"),
    ])
    let preview = HTMLPreview(outer, title: "", embedded: ["a": HTMLPreview(try Self.tree([]), title: "")])
    let nodes = PreviewNodes(preview)
    #expect(nodes.html.ranges(of: #"data-ref="a/_root""#).count == 1)
    #expect(nodes.steps(from: PreviewNodes()).count == 1)
  }

  @Test("a long list takes time as its length")
  func longList() throws {
    let texts = (0..<10_000).map { Self.text("\($0)", "\($0)") }
    let (old, new) = (Self.nodes(try Self.tree(texts)), Self.nodes(try Self.tree(texts.reversed())))
    #expect(new.steps(from: old).count == 9_999)
    #expect(new.steps(fromOtherRun: old).count <= 10_100)
  }

  @Test("steps are lists for the browser's script")
  func json() {
    let steps: [PreviewStep] = [
      .remove("1"), .rename(["1": "2"]), .insert("<div>", into: "", before: nil), .move("1", into: "2", before: "3"),
      .change("1", ["a": "b", "c": nil]), .text("1", "x"),
    ]
    #expect(
      steps.map { String(decoding: $0.json.text, as: UTF8.self) } == [
        #"["remove","1"]"#, #"["rename",{"1":"2"}]"#, #"["insert","<div>","",null]"#, #"["move","1","2","3"]"#,
        #"["change","1",{"a":"b","c":null}]"#, #"["text","1","x"]"#,
      ])
  }

  // MARK: Random pages

  private static func embedded(_ page: ElementTree, in tree: ElementTree) -> [String: HTMLPreview] {
    Dictionary(
      uniqueKeysWithValues: tree.elements.values.filter { $0.type == "embed" }.prefix(1).map {
        ($0.ref, HTMLPreview(page, title: ""))
      })
  }

  private static let types = [
    "div", "text", "image", "input", "textarea", "slider", "indicator", "list", "waterfall", "switch", "embed",
  ]

  /// A tree of elements with few refs, so that two trees share many of them at different places.
  private static func randomTree(_ random: inout SeededGenerator) throws -> ElementTree {
    var tree = try tree([])
    for _ in 0..<Int.random(in: 0...60, using: &random) {
      let number = Int.random(in: 0..<40, using: &random)
      let parent = tree.elements.keys.sorted().randomElement(using: &random) ?? "_root"
      // An element mostly has the same type in each tree.
      let type = types[Int.random(in: 0..<10, using: &random) == 0 ? 1 : number % types.count]
      let values: [String: ScriptValue] = [
        "value": .string(["", "a", "<b> & \"c\"", "\nd"].randomElement(using: &random) ?? ""),
        "src": .string(["", "a.png"].randomElement(using: &random) ?? ""),
        "index": .number(Double(Int.random(in: 0...2, using: &random))), "checked": .bool(Bool.random(using: &random)),
        "columnCount": .number(Double(Int.random(in: 1...2, using: &random))),
      ]
      let made = ElementDescription(
        ref: "\(number)", type: type, attributes: values.filter { _ in Bool.random(using: &random) },
        style: Bool.random(using: &random) ? ["width": .number(Double(Int.random(in: 1...2, using: &random)))] : [:],
        events: Bool.random(using: &random) ? ["click"] : [])
      try? tree.apply(.addElement(parent: parent, made, index: Int.random(in: 0...4, using: &random)))
    }
    return tree
  }
}

/// A browser's nodes for a preview's HTML, and after the steps that change it.
private final class DocumentModel {
  final class Node {
    let tag: String
    var attributes: [String: String] = [:]
    var text = ""
    var children: [Node] = []
    weak var parent: Node?

    init(_ tag: String) { self.tag = tag }

    /// The element that holds the children: for a waterfall the one around its columns.
    var inside: Node { children.first { $0.attributes["class"] == "columns" } ?? self }

    var written: String {
      let all = attributes.sorted { $0.key < $1.key }.map { " \($0.key)=\"\($0.value.escaped)\"" }.joined()
      return "<\(tag)\(all)>\(text.escaped)\(children.map(\.written).joined())</\(tag)>"
    }
  }

  struct Unfit: Error { let reason: String }

  private let body = Node("body")
  private var byRef: [String: Node] = [:]

  init() {}

  init(html: String) throws { try add(html, into: body, before: nil) }

  var text: String { body.written }

  func apply(_ step: PreviewStep) throws {
    switch step {
    case .remove(let ref):
      let node = try found(ref)
      detach(node)
      forget(node)
    case .rename(let refs):
      let staying = try refs.map { (try found($0.key), $0.value) }
      for ref in refs.keys { byRef[ref] = nil }
      for (node, ref) in staying {
        node.attributes["data-ref"] = ref
        byRef[ref] = node
      }
    case .insert(let html, let parent, let next): try add(html, into: try inside(parent), before: next.map(found))
    case .move(let ref, let parent, let next):
      let (node, target) = (try found(ref), try inside(parent))
      var above: Node? = target
      while let at = above {
        guard at !== node else { throw Unfit(reason: "\(ref) is moved into itself") }
        above = at.parent
      }
      detach(node)
      try attach([node], to: target, before: next.map(found))
    case .change(let ref, let changes):
      let node = try found(ref)
      for (name, value) in changes { node.attributes[name] = value }
    case .text(let ref, let text): try found(ref).text = text
    }
  }

  private func found(_ ref: String) throws -> Node {
    guard let node = byRef[ref] else { throw Unfit(reason: "there is no \(ref)") }
    return node
  }

  private func inside(_ ref: String) throws -> Node { ref.isEmpty ? body : try found(ref).inside }

  private func detach(_ node: Node) {
    node.parent?.children.removeAll { $0 === node }
    node.parent = nil
  }

  private func attach(_ nodes: [Node], to parent: Node, before next: Node?) throws {
    let place = next.map { next in parent.children.firstIndex { $0 === next } } ?? parent.children.count
    guard let place else { throw Unfit(reason: "the next element is not in the parent") }
    parent.children.insert(contentsOf: nodes, at: place)
    for node in nodes { node.parent = parent }
  }

  private func forget(_ node: Node) {
    if let ref = node.attributes["data-ref"] { byRef[ref] = nil }
    for child in node.children { forget(child) }
  }

  private func note(_ node: Node) {
    if let ref = node.attributes["data-ref"] { byRef[ref] = node }
    for child in node.children { note(child) }
  }

  private func add(_ html: String, into parent: Node, before next: Node?) throws {
    let root = Node("fragment")
    var open = [root]
    var rest = html[...]
    while !rest.isEmpty {
      guard let top = open.last else { throw Unfit(reason: "an end without its beginning") }
      guard rest.first == "<" else {
        let text = rest.prefix { $0 != "<" }
        rest = rest.dropFirst(text.count)
        // HTML §13.1.2.5: a line end at the beginning of a text field does not count.
        top.text += Self.plain(top.tag == "textarea" && text.hasPrefix("\n") ? text.dropFirst() : text)
        continue
      }
      guard let end = rest.firstIndex(of: ">") else { throw Unfit(reason: "a tag without its end") }
      let inner = rest[rest.index(after: rest.startIndex)..<end]
      rest = rest[rest.index(after: end)...]
      if inner.hasPrefix("/") {
        guard inner.dropFirst() == top.tag else { throw Unfit(reason: "</\(inner.dropFirst())> ends <\(top.tag)>") }
        open.removeLast()
        continue
      }
      let tag = inner.prefix { $0 != " " }
      let node = Node(String(tag))
      var attributes = inner.dropFirst(tag.count)
      while let equals = attributes.firstRange(of: "=\"") {
        let name = attributes[..<equals.lowerBound].drop { $0 == " " }
        let value = attributes[equals.upperBound...].prefix { $0 != "\"" }
        node.attributes[String(name)] = Self.plain(value)
        attributes = attributes[value.endIndex...].dropFirst()
      }
      node.parent = top
      top.children.append(node)
      if tag != "img", tag != "input" { open.append(node) }
    }
    guard open.count == 1 else { throw Unfit(reason: "a beginning without its end") }
    let nodes = root.children
    for node in nodes { note(node) }
    try attach(nodes, to: parent, before: next)
  }

  private static func plain(_ text: Substring) -> String {
    String(text).replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&quot;", with: "\"")
      .replacing("&#39;", with: "'").replacing("&amp;", with: "&")
  }
}
