import HTTPTransport
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
  /// The styles as the debugger has them, by the elements' refs.
  private var styles: [String: InspectedStyle] = [:]

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
  /// The number of elements whose styles are kept as the debugger has them.
  private static let styleLimit = 1_000

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

  /// Tells the debugger of an element that it may not have, with the children of all that are above it.
  ///
  /// - Returns: the events for the debugger, and the number of the element; `nil` if there is no such element.
  mutating func reveal(_ ref: String) -> (events: [Event], number: Int)? {
    guard !numbers.isEmpty, let element = tree[ref] else { return nil }
    var above: [String] = []
    var next = element.parent
    while let at = next {
      above.append(at)
      next = tree[at]?.parent
    }
    var events: [Event] = []
    for at in above.reversed() where !opened.contains(at) {
      guard let number = numbers[at], let nodes = children(of: number) else { return nil }
      events.append(("DOM.setChildNodes", ["parentId": ScriptValue(number), "nodes": nodes]))
    }
    return numbers[ref].map { (events, $0) }
  }

  /// Takes over a changed tree.
  ///
  /// - Returns: the events for the debugger; `nil` if it is to ask for the document again.
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
      (numbers[gone.ref], refs[number], styles[gone.ref]) = (nil, nil, nil)
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

  // MARK: Styles and edits

  private static let styleIDStart = "style."

  /// The style of an element as a `CSS.CSSStyle`, which the debugger has from now on.
  mutating func style(of element: ElementTree.Element) -> ScriptValue {
    present(styles[element.ref] ?? InspectedStyle(), of: element)
  }

  private mutating func present(_ style: InspectedStyle, of element: ElementTree.Element) -> ScriptValue {
    var style = style
    style.follow(Self.declarations(of: element))
    if styles.count >= Self.styleLimit { styles = [:] }
    styles[element.ref] = style
    return style.json(id: Self.styleIDStart + "\(numbers[element.ref] ?? 0)")
  }

  /// The edit that puts a text into a style.
  ///
  /// - Parameter edit: a `CSS.StyleDeclarationEdit`.
  /// - Throws: ``InspectorFault``.
  func edit(_ edit: ScriptValue) throws(InspectorFault) -> InspectedEdit {
    guard let id = edit["styleSheetId"].string, id.hasPrefix(Self.styleIDStart),
      let element = element(Int(id.dropFirst(Self.styleIDStart.count)))
    else { throw InspectorFault(.failed, "there is no element with this style") }
    guard let text = edit["text"].string else {
      throw InspectorFault(.invalidParams, "the parameter \"text\" of the edit is missing, or is not a text")
    }
    let former = shownStyle(of: element)
    let style = try former.replacing(edit["range"], by: text)
    return InspectedEdit(
      ref: element.ref, style: style.changes(from: former, of: element), styleText: style, isOfStyle: true)
  }

  private func shownStyle(of element: ElementTree.Element) -> InspectedStyle {
    if let style = styles[element.ref] { return style }
    var style = InspectedStyle()
    style.follow(Self.declarations(of: element))
    return style
  }

  /// The edit that sets attributes to texts.
  ///
  /// - Parameter gone: the attribute that goes unless it is set; `nil` for none.
  /// - Throws: ``InspectorFault``.
  func edit(
    _ element: ElementTree.Element, setting attributes: [(name: String, value: String)], removing gone: String? = nil
  ) throws(InspectorFault) -> InspectedEdit {
    var edit = InspectedEdit(ref: element.ref)
    let shown = Dictionary(Self.attributes(of: element).map { ($0.name, $0.value) }) { $1 }
    var texts: [String: String?] = [:]
    if let gone, shown[gone] != nil { texts[gone] = .some(nil) }
    for (name, value) in attributes { texts[name] = value }
    for (name, text) in texts where shown[name] != text {
      switch name {
      case "data-ref", "data-events":
        throw InspectorFault(
          .failed, "the attribute \(name.quotedForMessage) says how the page's script knows the element: it stays")
      case "style":
        let style = try InspectedStyle(reading: text ?? "")
        edit.style = style.changes(from: shownStyle(of: element), of: element)
        edit.styleText = style
      default: edit.attributes[name] = text.map { Self.value($0, like: element.attributes[name]) } ?? .null
      }
    }
    return edit
  }

  /// The value of an attribute's text: of the kind that the value had, if the text is one.
  private static func value(_ text: String, like former: ScriptValue?) -> JSONValue {
    switch former {
    case .bool, .number, .array, .object: (try? JSONValue(reading: Array(text.utf8))) ?? .string(text)
    default: .string(text)
    }
  }

  /// Takes over an edit that the page has made.
  ///
  /// - Returns: as ``update(to:)``.
  mutating func take(_ edit: InspectedEdit) -> [Event]? {
    var new = tree
    // The page has the element; the debugger's tree may be older.
    try? new.apply(.updateAttributes(edit.ref, edit.attributes.mapValues { ScriptValue($0) }))
    try? new.apply(.updateStyle(edit.ref, edit.style.mapValues { ScriptValue($0) }))
    let events = update(to: new)
    if let text = edit.styleText, let element = tree[edit.ref] { _ = present(text, of: element) }
    return events
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
      // Frameworks take a property away by setting it to an empty text.
      value.isNothing || value == "" ? nil : (InlineStyle.kebab(name), clipped(text(value)))
    }
  }

  private static func text(_ value: ScriptValue) -> String { value.plainText ?? value.jsonText }

  private static func clipped(_ text: String) -> String {
    text.utf8.count <= valueLimit ? text : text.prefix(valueLimit) + "…"
  }
}

/// An edit of an element by a debugger: what the page sets; `null` for what it takes away.
struct InspectedEdit: Hashable, Sendable {
  let ref: String
  var attributes: [String: JSONValue] = [:]
  var style: [String: JSONValue] = [:]
  /// The style with its declarations in the debugger's order; `nil` if it is not edited.
  var styleText: InspectedStyle?
  /// `true` if the debugger waits for the style.
  var isOfStyle = false

  /// The question that has the page make the edit; `nil` if nothing changes there.
  var question: PageInspection? {
    attributes.isEmpty && style.isEmpty ? nil : .edit(ref: ref, attributes: attributes, style: style)
  }

  /// The largest length of the text of attributes in bytes.
  private static let textLimit = 256 << 10
  /// The largest number of attributes in a text.
  private static let countLimit = 200
  /// The largest length of an attribute's name in bytes.
  private static let nameLimit = 200

  /// Reads attributes as they stand in the tag of an element: WHATWG HTML §13.1.2.3.
  ///
  /// - Throws: ``InspectorFault``.
  static func attributes(in text: String) throws(InspectorFault) -> [(name: String, value: String)] {
    guard text.utf8.count <= textLimit else {
      throw InspectorFault(.failed, "the attributes have \(text.utf8.count) bytes; the limit is \(textLimit)")
    }
    var found: [(name: String, value: String)] = []
    var rest = Substring(text).drop(while: \.isWhitespace)
    while !rest.isEmpty {
      let name = String(rest.prefix { !$0.isWhitespace && $0 != "=" })
      try check(name)
      rest = rest.dropFirst(name.count).drop(while: \.isWhitespace)
      var value = ""
      if rest.first == "=" {
        rest = rest.dropFirst().drop(while: \.isWhitespace)
        if let quote = rest.first, quote == "\"" || quote == "'" {
          let inner = rest.dropFirst().prefix { $0 != quote }
          rest = rest.dropFirst(1 + inner.count)
          guard rest.first == quote else {
            throw InspectorFault(.failed, "the value of \(name.quotedForMessage) has no closing quotation mark")
          }
          rest = rest.dropFirst()
          value = String(inner)
        } else {
          value = String(rest.prefix { !$0.isWhitespace })
          rest = rest.dropFirst(value.count)
        }
      }
      found.append((name, unescaped(value)))
      guard found.count <= countLimit else {
        throw InspectorFault(.failed, "the text has more than \(countLimit) attributes, which is the limit")
      }
      rest = rest.drop(while: \.isWhitespace)
    }
    return found
  }

  /// - Throws: ``InspectorFault`` unless the text may be an attribute's name.
  static func check(_ name: String) throws(InspectorFault) {
    guard !name.isEmpty, !name.contains(where: { $0.isWhitespace || "\"'<>/=".contains($0) }) else {
      throw InspectorFault(.failed, "\(name.quotedForMessage) is not the name of an attribute")
    }
    guard name.utf8.count <= nameLimit else {
      throw InspectorFault(.failed, "the name of an attribute has \(name.utf8.count) bytes; the limit is \(nameLimit)")
    }
  }

  /// The text of a value that debuggers write as in HTML.
  private static func unescaped(_ value: String) -> String {
    guard value.contains("&") else { return value }
    return [
      ("&quot;", "\""), ("&#39;", "'"), ("&apos;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&nbsp;", "\u{A0}"),
      ("&amp;", "&"),
    ]
    .reduce(value) { $0.replacing($1.0, with: $1.1) }
  }
}
