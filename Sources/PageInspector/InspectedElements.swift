import PageRuntime
import ScriptEngine

/// The elements of a page as a debugger knows them: which of them it has seen, under which numbers. A pure value.
///
/// A debugger gets the first levels of a tree, and the children of an element when it asks for them. It hears of changes of
/// the elements that it has.
struct InspectedElements: Sendable {
  /// A change that the debugger is told, in the form of an event of the domain `DOM`.
  typealias Event = (method: String, params: ScriptValue)

  private(set) var tree = ElementTree()
  private var numbers: [String: Int] = [:]
  private var refs: [Int: String] = [:]
  /// The elements whose children the debugger has.
  private var opened: Set<String> = []
  private var lastNumber = document
  /// The last number before the update that is under way.
  private var lastKnown = document

  /// The number of the document around the body.
  static let document = 1
  /// The number of levels that are sent at once.
  static let levels = 3
  /// The number of elements that are sent before the debugger asks for them.
  private static let eager = 150
  /// The largest length of an attribute's value in characters.
  private static let valueLimit = 10_000
  /// The number of changes at once that are told one by one.
  private static let changeLimit = 1_000

  /// The element of a number that the debugger names; `nil` if it has none.
  func element(_ number: Int?) -> ElementTree.Element? { number.flatMap { refs[$0] }.flatMap { tree[$0] } }

  /// The document with the first levels of a tree, in place of all that the debugger has.
  mutating func show(_ new: ElementTree, url: String) -> ScriptValue {
    let last = lastNumber
    self = InspectedElements()
    // A number is never that of another element.
    (lastNumber, tree) = (last, new)
    var room = Self.eager
    let children = tree.root.map { [node($0, levels: Self.levels, room: &room)] } ?? []
    return [
      "nodeId": ScriptValue(Self.document), "backendNodeId": ScriptValue(Self.document), "nodeType": 9,
      "nodeName": "#document", "localName": "", "nodeValue": "", "documentURL": .string(url), "baseURL": .string(url),
      "xmlVersion": "", "childNodeCount": ScriptValue(children.count), "children": .array(children),
    ]
  }

  /// The children of an element, which the debugger has from now on; `nil` if it does not have the element.
  mutating func children(of number: Int?) -> ScriptValue? {
    guard let element = element(number) else { return nil }
    opened.insert(element.ref)
    var room = Self.eager
    return .array(element.children.map { node($0, levels: 1, room: &room) })
  }

  /// Takes over a changed tree.
  ///
  /// - Returns: what the debugger is told; `nil` if it is to ask for the document again.
  mutating func update(to new: ElementTree) -> [Event]? {
    let old = tree
    guard old != new else { return [] }
    guard let root = new.root, old.root == root else { return nil }
    tree = new
    lastKnown = lastNumber
    var events: [Event] = []
    // Outer elements go with all below them.
    let present = numbers.keys.compactMap { old[$0] }.sorted { $0.depth < $1.depth }
    for element in present where numbers[element.ref] != nil && new[element.ref]?.parent != element.parent {
      remove(element, from: old, &events)
      guard events.count <= Self.changeLimit else { return nil }
    }
    let staying = numbers.keys.compactMap { new[$0] }.sorted { ($0.depth, $0.ref) < ($1.depth, $1.ref) }
    for element in staying {
      // What was inserted just now is as it is.
      guard let number = known(element.ref), let former = old[element.ref] else { continue }
      compare(former, element, number, &events)
      if former.children != element.children { compareChildren(of: former, element, number, old, &events) }
      guard events.count <= Self.changeLimit else { return nil }
    }
    return events
  }

  /// The number of an element that the debugger had before the update; `nil` for others.
  private func known(_ ref: String) -> Int? { numbers[ref].flatMap { $0 <= lastKnown ? $0 : nil } }

  private mutating func remove(_ element: ElementTree.Element, from old: ElementTree, _ events: inout [Event]) {
    guard let number = numbers[element.ref], let parent = element.parent.flatMap({ numbers[$0] }) else { return }
    events.append(
      ("DOM.childNodeRemoved", ["parentNodeId": ScriptValue(parent), "nodeId": ScriptValue(number)]))
    for gone in old.preorder(from: element.ref) {
      // One that was below it may have been inserted elsewhere by now.
      guard let number = known(gone.ref) else { continue }
      (numbers[gone.ref], refs[number]) = (nil, nil)
      opened.remove(gone.ref)
    }
  }

  private func compare(
    _ former: ElementTree.Element, _ element: ElementTree.Element, _ number: Int, _ events: inout [Event]
  ) {
    guard
      former.attributes != element.attributes || former.style != element.style || former.events != element.events
    else { return }
    let old = Dictionary(Self.attributes(of: former).map { ($0.name, $0.value) }) { $1 }
    let new = Self.attributes(of: element)
    for (name, value) in new where old[name] != value {
      events.append(
        (
          "DOM.attributeModified",
          ["nodeId": ScriptValue(number), "name": .string(name), "value": .string(value)]
        ))
    }
    let names = Set(new.map(\.name))
    for name in old.keys.sorted() where !names.contains(name) {
      events.append(("DOM.attributeRemoved", ["nodeId": ScriptValue(number), "name": .string(name)]))
    }
  }

  private mutating func compareChildren(
    of former: ElementTree.Element, _ element: ElementTree.Element, _ number: Int, _ old: ElementTree,
    _ events: inout [Event]
  ) {
    guard opened.contains(element.ref) else {
      if former.children.count != element.children.count {
        events.append(
          (
            "DOM.childNodeCountUpdated",
            ["nodeId": ScriptValue(number), "childNodeCount": ScriptValue(element.children.count)]
          ))
      }
      return
    }
    // Those that the debugger has at their former places, in order.
    let staying = former.children.filter { known($0) != nil }
    var (taken, place, previous): (Set<String>, Int, Int) = ([], 0, 0)
    let isThere = Set(staying)
    for ref in element.children {
      while place < staying.count, taken.contains(staying[place]) { place += 1 }
      if place < staying.count, staying[place] == ref {
        place += 1
      } else {
        if isThere.contains(ref), let moved = old[ref] {
          taken.insert(ref)
          remove(moved, from: old, &events)
        }
        var room = Self.eager
        events.append(
          (
            "DOM.childNodeInserted",
            [
              "parentNodeId": ScriptValue(number), "previousNodeId": ScriptValue(previous),
              "node": node(ref, levels: Self.levels, room: &room),
            ]
          ))
      }
      previous = numbers[ref] ?? previous
      if events.count > Self.changeLimit { return }
    }
  }

  // MARK: Nodes

  /// - Parameters:
  ///   - levels: the levels with this one.
  ///   - room: the number of elements that may follow.
  private mutating func node(_ ref: String, levels: Int, room: inout Int) -> ScriptValue {
    let number: Int
    if let known = numbers[ref] {
      number = known
    } else {
      lastNumber += 1
      number = lastNumber
      (numbers[ref], refs[number]) = (number, ref)
    }
    guard let element = tree[ref] else { return .null }
    var members: [String: ScriptValue] = [
      "nodeId": ScriptValue(number), "backendNodeId": ScriptValue(number), "nodeType": 1,
      "nodeName": .string(element.type), "localName": .string(element.type), "nodeValue": "",
      "childNodeCount": ScriptValue(element.children.count),
      "attributes": .array(Self.attributes(of: element).flatMap { [.string($0.name), .string($0.value)] }),
    ]
    let parent = element.parent.flatMap { numbers[$0] } ?? Self.document
    members["parentId"] = ScriptValue(parent)
    if levels > 1 || element.children.isEmpty, element.children.count <= room {
      room -= element.children.count
      opened.insert(ref)
      members["children"] = .array(element.children.map { node($0, levels: levels - 1, room: &room) })
    }
    return .object(members)
  }

  /// The attributes by name, with the style, the ref and the events as the HTML preview has them.
  static func attributes(of element: ElementTree.Element) -> [(name: String, value: String)] {
    var result = element.attributes.sorted { $0.key < $1.key }.compactMap { name, value in
      value.isNothing || ["style", "data-ref", "data-events"].contains(name) ? nil : (name, clipped(text(value)))
    }
    let style = declarations(of: element).map { "\($0.name): \($0.value);" }.joined(separator: " ")
    if !style.isEmpty { result.append(("style", clipped(style))) }
    result.append(("data-ref", element.ref))
    if !element.events.isEmpty { result.append(("data-events", element.events.sorted().joined(separator: " "))) }
    return result
  }

  /// The style as declarations: names as in CSS, values as the script wrote them.
  static func declarations(of element: ElementTree.Element) -> [(name: String, value: String)] {
    element.style.sorted { $0.key < $1.key }.compactMap { name, value in
      value.isNothing ? nil : (InlineStyle.kebab(name), clipped(text(value)))
    }
  }

  private static func text(_ value: ScriptValue) -> String { value.plainText ?? value.jsonText }

  private static func clipped(_ text: String) -> String {
    text.utf8.count <= valueLimit ? text : text.prefix(valueLimit) + "…"
  }
}
