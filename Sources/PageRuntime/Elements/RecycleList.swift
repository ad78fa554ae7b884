import ScriptEngine

/// The cells of `recycle-list` elements.
///
/// A script describes each kind of cell once, as a `cell-slot` with bindings, and gives the data apart, as `listData`. A
/// device makes the cells itself, as many as it shows.
extension ElementTree {
  /// The tree with cells in the place of the templates of each `recycle-list`. A tree without such lists is itself.
  ///
  /// A cell's refs are those of its template, with the item's index: `7@0`. At most 20,000 elements are made.
  package var expanded: ElementTree { expansion?.tree ?? self }

  /// The tree with cells, and the components with data of their own that are in them, the outer ones first; `nil` for a
  /// tree that stays as it is. It takes as long as all cells: a page has it in ``PageInstance/expandedTree``.
  var expansion: (tree: ElementTree, components: [CellComponent])? {
    let lists = elements.values.filter { $0.isRecycleList(in: self) }
    guard !lists.isEmpty else { return nil }
    var maker = CellMaker(self)
    for list in lists.sorted(by: { $0.depth < $1.depth }) { maker.fill(list) }
    return (try? maker.filled()).map { ($0, maker.components) }
  }
}

/// A component in a cell that has data of its own. The framework knows its template only: the host makes the component,
/// and the script tells its data.
struct CellComponent: Hashable, Sendable {
  /// The list, the root in the template, and the item's index with those of the repetitions around the root: `5@9@0.1`.
  let id: String
  /// The ref of the `recycle-list`, whose attribute ``dataAttribute`` has the data of its components by their ids.
  let list: String
  /// The id that the framework has given the template.
  let template: String
  /// The item's index.
  let position: Int
  /// The properties that the template binds.
  let properties: [String: ScriptValue]

  static let dataAttribute = "@componentData"
}

extension ElementTree.Element {
  fileprivate func isRecycleList(in tree: ElementTree) -> Bool {
    type == "recycle-list" && attributes["listData"]?.array != nil
      && children.contains { tree[$0]?.type == "cell-slot" }
  }
}

/// Makes cells of templates.
private struct CellMaker {
  /// A template with the data that it is filled with.
  private struct Work {
    let template: ElementTree.Element
    /// The item's index, and the indexes of the repetitions around the template.
    var path: String
    var scope: BindingScope
    let parent: String
    let depth: Int
    /// The list, and the id of the component around the template.
    let list: ElementTree.Element
    var component: String?
    var isRepeated = false
  }

  private static let elementLimit = 20_000
  /// Items, repetitions and templates that are looked at, also those that make no element.
  private static let stepLimit = 100_000
  /// Bytes of text that bindings give, with what they join on the way.
  private static let textLimit = 16 << 20

  private let tree: ElementTree
  private var elements: [String: ElementTree.Element]
  private var made = 0
  private var steps = 0
  private var room = CellMaker.textLimit
  private(set) var components: [CellComponent] = []
  /// Parsed expressions, by their texts; `nil` for those that are invalid.
  private var expressions: [String: BindingExpression?] = [:]

  init(_ tree: ElementTree) { (self.tree, elements) = (tree, tree.elements) }

  /// - Throws: ``ElementTreeError`` if a cell has the ref of another element, or is nested too deeply.
  func filled() throws -> ElementTree { try ElementTree(root: tree.root, elements: Array(elements.values)) }

  mutating func fill(_ list: ElementTree.Element) {
    // A list in a template is replaced with it.
    guard elements[list.ref] != nil else { return }
    let slots = list.children.compactMap { tree[$0] }.filter { $0.type == "cell-slot" }
    for slot in slots { for element in tree.preorder(from: slot.ref) { elements[element.ref] = nil } }
    let before = list.children.prefix { tree[$0]?.type != "cell-slot" }
    let after = list.children.dropFirst(before.count).filter { tree[$0]?.type != "cell-slot" }
    elements[list.ref]?.children = Array(before)
    elements[list.ref]?.attributes[CellComponent.dataAttribute] = nil
    let alias = list.attributes["alias"]?.string, index = list.attributes["index"]?.string
    for (number, item) in (list.attributes["listData"]?.array ?? []).enumerated()
    where made < Self.elementLimit && steps < Self.stepLimit {
      steps += 1
      var frame: [String: ScriptValue] = [:]
      if let alias { frame[alias] = item }
      if let index { frame[index] = .number(Double(number)) }
      let scope = [alias == nil ? item.object ?? [:] : [:], frame]
      guard let slot = slot(for: item, scope, in: list, among: slots) else { continue }
      add(Work(template: slot, path: "\(number)", scope: scope, parent: list.ref, depth: list.depth + 1, list: list))
    }
    elements[list.ref]?.children += after
  }

  /// The slot whose case is the item's; without a case the default one, or the first.
  private mutating func slot(
    for item: ScriptValue, _ scope: BindingScope, in list: ElementTree.Element, among slots: [ElementTree.Element]
  ) -> ElementTree.Element? {
    let standard = slots.first { $0.attributes["default"] != nil }
    guard let name = list.attributes["switch"]?.string, !name.isEmpty else { return standard ?? slots.first }
    // A member of the item, or an expression.
    let kind = item.object?[name] ?? value(of: name, in: scope)
    guard let text = kind.plainText, !text.isEmpty else { return standard ?? slots.first }
    return slots.first { $0.attributes["case"]?.plainText == text } ?? standard
  }

  /// Makes the elements of a template, without recursion: scripts decide how deep it is.
  private mutating func add(_ first: Work) {
    var waiting = [first]
    while let work = waiting.popLast(), made < Self.elementLimit, steps < Self.stepLimit {
      steps += 1
      let attributes = work.template.attributes
      if let repetition = attributes["[[repeat]]"], !work.isRepeated {
        waiting += repeated(work, repetition).reversed()
        continue
      }
      if let condition = attributes["[[match]]"], !value(of: condition.plainText ?? "", in: work.scope).isTrue {
        continue
      }
      made += 1
      let inner = entered(work)
      let ref = "\(work.template.ref)@\(work.path)"
      var element = work.template
      element = ElementTree.Element(
        ref: ref, type: element.type == "cell-slot" ? "cell" : element.type,
        attributes: bound(attributes.filter { !Self.isDirective($0.key) }, in: inner.scope),
        style: bound(element.style, in: inner.scope), events: element.events, children: [], parent: work.parent,
        depth: work.depth, eventArguments: bound(element.eventArguments, in: inner.scope, joinsArrays: false),
        component: inner.component)
      elements[ref] = element
      elements[work.parent]?.children.append(ref)
      for child in work.template.children.reversed() {
        guard let template = tree[child] else { continue }
        waiting.append(
          Work(
            template: template, path: work.path, scope: inner.scope, parent: ref, depth: work.depth + 1,
            list: work.list, component: inner.component))
      }
    }
  }

  /// The work with the scope of the component whose root the template is. A component sees its own properties and data
  /// only.
  private mutating func entered(_ work: Work) -> Work {
    let attributes = work.template.attributes
    guard attributes["@isComponentRoot"]?.plainText == "true", let bindings = attributes["@componentProps"]?.object
    else { return work }
    var inner = work
    let properties = bound(bindings, in: work.scope)
    inner.scope = [properties]
    guard let template = attributes["@templateId"]?.reference, !template.isEmpty else { return inner }
    let id = "\(work.list.ref)@\(work.template.ref)@\(work.path)"
    let position = work.path.prefix { $0 != "." }
    components.append(
      CellComponent(
        id: id, list: work.list.ref, template: template, position: Int(position) ?? 0, properties: properties))
    inner.component = id
    if let data = work.list.attributes[CellComponent.dataAttribute]?[id].object { inner.scope.append(data) }
    return inner
  }

  /// `{"@expression": "item.tags", "@alias": "tag", "@index": "i"}`
  private mutating func repeated(_ work: Work, _ repetition: ScriptValue) -> [Work] {
    let list = value(of: repetition["@expression"].string ?? "", in: work.scope)
    let entries: [(key: ScriptValue, value: ScriptValue)] =
      switch list {
      case .array(let values): values.enumerated().map { (.number(Double($0)), $1) }
      case .object(let members): members.sorted { $0.key < $1.key }.map { (.string($0), $1) }
      // As `v-for="n in 3"`.
      case .number(let count) where count > 0:
        (0..<Int(min(count, 10_000))).map { (.number(Double($0)), .number(Double($0 + 1))) }
      default: []
      }
    let used = entries.prefix(min(Self.elementLimit, max(0, Self.stepLimit - steps)))
    steps += used.count
    return used.enumerated().map { number, entry in
      var frame: [String: ScriptValue] = [:]
      if let alias = repetition["@alias"].string { frame[alias] = entry.value }
      if let key = repetition["@key"].string { frame[key] = entry.key }
      if let index = repetition["@index"].string {
        frame[index] = repetition["@key"].string == nil ? entry.key : .number(Double(number))
      }
      var copy = work
      copy.path += ".\(number)"
      copy.scope.append(frame)
      copy.isRepeated = true
      return copy
    }
  }

  private static func isDirective(_ name: String) -> Bool { name.hasPrefix("[[") || name.hasPrefix("@") }

  // MARK: Bindings

  private mutating func bound(
    _ members: [String: ScriptValue], in scope: BindingScope, joinsArrays: Bool = true
  ) -> [String: ScriptValue] {
    var result = members
    for (name, member) in members { result[name] = bound(member, in: scope, joinsArrays) }
    return result
  }

  /// A binding's value; a text in pieces, of which some are bindings, is one text. Other values stay.
  private mutating func bound(_ member: ScriptValue, in scope: BindingScope, _ joinsArrays: Bool) -> ScriptValue {
    switch member {
    case .object(let object):
      guard let expression = object["@binding"] else { return member }
      let value = value(of: expression.plainText ?? "", in: scope)
      // Each element has it, and is shown.
      return BindingExpression.takes(value.string?.utf8.count ?? 0, of: &room) ? value : .undefined
    case .array(let pieces) where pieces.contains(where: { $0["@binding"] != .undefined }):
      let values = pieces.map { bound($0, in: scope, joinsArrays) }
      guard joinsArrays else { return .array(values) }
      let texts = values.map(\.bindingText)
      let length = texts.reduce(0) { $0 + $1.utf8.count }
      return BindingExpression.takes(length, of: &room) ? .string(texts.joined()) : .undefined
    default: return member
    }
  }

  private mutating func value(of text: String, in scope: BindingScope) -> ScriptValue {
    let expression: BindingExpression?
    if let known = expressions[text] {
      expression = known
    } else {
      expression = BindingExpression(text)
      expressions[text] = .some(expression)
    }
    return expression?.value(in: scope, &room) ?? .undefined
  }
}
