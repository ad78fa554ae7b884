import ScriptEngine

/// The cells of `recycle-list` elements.
///
/// A script describes each kind of cell once, as a `cell-slot` with bindings, and gives the data apart, as `listData`. A
/// device makes the cells itself, as many as it shows.
extension ElementTree {
  /// The tree with cells in the place of the templates of each `recycle-list`. A tree without such lists is itself.
  ///
  /// A cell's refs are those of its template, with the item's index: `7@0`. At most 20,000 elements are made.
  package var expanded: ElementTree {
    let lists = elements.values.filter { $0.isRecycleList(in: self) }
    guard !lists.isEmpty else { return self }
    var maker = CellMaker(self)
    for list in lists.sorted(by: { $0.depth < $1.depth }) { maker.fill(list) }
    return (try? maker.filled()) ?? self
  }

  /// The ref of a cell's template, with the arguments that the template binds to an event.
  ///
  /// - Parameter ref: the ref of an element, or of a cell in ``expanded``.
  func eventTarget(_ ref: String, _ type: String) -> (ref: String, arguments: ScriptValue?) {
    guard self[ref] == nil, let template = ref.split(separator: "@", maxSplits: 1).first.map(String.init),
      self[template] != nil
    else { return (ref, self[ref]?.eventArguments[type]) }
    return (template, expanded[ref]?.eventArguments[type])
  }
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
    var isRepeated = false
  }

  private static let elementLimit = 20_000

  private let tree: ElementTree
  private var elements: [String: ElementTree.Element]
  private var made = 0
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
    let alias = list.attributes["alias"]?.string, index = list.attributes["index"]?.string
    for (number, item) in (list.attributes["listData"]?.array ?? []).enumerated() where made < Self.elementLimit {
      var frame: [String: ScriptValue] = [:]
      if let alias { frame[alias] = item }
      if let index { frame[index] = .number(Double(number)) }
      let scope = BindingScope(frames: [alias == nil ? item.object ?? [:] : [:], frame])
      guard let slot = slot(for: item, scope, in: list, among: slots) else { continue }
      add(Work(template: slot, path: "\(number)", scope: scope, parent: list.ref, depth: list.depth + 1))
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
    while let work = waiting.popLast(), made < Self.elementLimit {
      let attributes = work.template.attributes
      if let repetition = attributes["[[repeat]]"], !work.isRepeated {
        waiting += repeated(work, repetition).reversed()
        continue
      }
      if let condition = attributes["[[match]]"], !value(of: condition.plainText ?? "", in: work.scope).isTrue {
        continue
      }
      made += 1
      let ref = "\(work.template.ref)@\(work.path)"
      var element = work.template
      element = ElementTree.Element(
        ref: ref, type: element.type == "cell-slot" ? "cell" : element.type,
        attributes: bound(attributes.filter { !Self.isDirective($0.key) }, in: work.scope),
        style: bound(element.style, in: work.scope), events: element.events, children: [], parent: work.parent,
        depth: work.depth, eventArguments: bound(element.eventArguments, in: work.scope, joinsArrays: false))
      elements[ref] = element
      elements[work.parent]?.children.append(ref)
      var scope = work.scope
      // A component sees its own properties only.
      if attributes["@isComponentRoot"]?.plainText == "true", let props = attributes["@componentProps"]?.object {
        scope = BindingScope(frames: [bound(props, in: work.scope)])
      }
      for child in work.template.children.reversed() {
        guard let template = tree[child] else { continue }
        waiting.append(Work(template: template, path: work.path, scope: scope, parent: ref, depth: work.depth + 1))
      }
    }
  }

  /// `{"@expression": "item.tags", "@alias": "tag", "@index": "i"}`
  private mutating func repeated(_ work: Work, _ repetition: ScriptValue) -> [Work] {
    let list = value(of: repetition["@expression"].string ?? "", in: work.scope)
    let entries: [(key: ScriptValue, value: ScriptValue)] =
      switch list {
      case .array(let values): values.enumerated().map { (.number(Double($0)), $1) }
      case .object(let members): members.sorted { $0.key < $1.key }.map { (.string($0), $1) }
      // As `v-for="n in 3"`.
      case .number(let count):
        (0..<Int(min(max(count, 0), 10_000))).map { (.number(Double($0)), .number(Double($0 + 1))) }
      default: []
      }
    return entries.prefix(Self.elementLimit).enumerated().map { number, entry in
      var frame: [String: ScriptValue] = [:]
      if let alias = repetition["@alias"].string { frame[alias] = entry.value }
      if let key = repetition["@key"].string { frame[key] = entry.key }
      if let index = repetition["@index"].string {
        frame[index] = repetition["@key"].string == nil ? entry.key : .number(Double(number))
      }
      var copy = work
      copy.path += ".\(number)"
      copy.scope.frames.append(frame)
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
      if let expression = object["@binding"] { return value(of: expression.plainText ?? "", in: scope) }
      return member
    case .array(let pieces) where pieces.contains(where: { $0["@binding"] != .undefined }):
      let values = pieces.map { bound($0, in: scope, joinsArrays) }
      return joinsArrays ? .string(values.map(\.bindingText).joined()) : .array(values)
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
    return expression?.value(in: scope) ?? .undefined
  }
}

/// The data that a binding may name, the innermost last.
struct BindingScope {
  var frames: [[String: ScriptValue]]

  subscript(name: String) -> ScriptValue { frames.last { $0[name] != nil }?[name] ?? .undefined }
}

// MARK: - Expressions

/// An expression of a template: names, members, literals, operators, and the conditional. There are no calls.
indirect enum BindingExpression {
  case literal(ScriptValue)
  case name(String)
  case member(BindingExpression, BindingExpression)
  case prefix(String, BindingExpression)
  case infix(String, BindingExpression, BindingExpression)
  case conditional(BindingExpression, BindingExpression, BindingExpression)

  /// Returns `nil` if the text is not such an expression, or is too long.
  init?(_ text: String) {
    guard text.utf8.count <= BindingParser.lengthLimit else { return nil }
    var parser = BindingParser(text)
    guard let expression = parser.whole() else { return nil }
    self = expression
  }

  func value(in scope: BindingScope) -> ScriptValue {
    switch self {
    case .literal(let value): return value
    case .name(let name): return scope[name]
    case .member(let owner, let name): return owner.value(in: scope).member(name.value(in: scope))
    case .prefix(let sign, let operand):
      let value = operand.value(in: scope)
      return sign == "!" ? .bool(!value.isTrue) : .number(sign == "-" ? -value.asNumber : value.asNumber)
    case .conditional(let condition, let first, let second):
      return condition.value(in: scope).isTrue ? first.value(in: scope) : second.value(in: scope)
    case .infix(let sign, let left, let right):
      let value = left.value(in: scope)
      switch sign {
      case "&&": return value.isTrue ? right.value(in: scope) : value
      case "||": return value.isTrue ? value : right.value(in: scope)
      default: return Self.result(of: sign, value, right.value(in: scope))
      }
    }
  }

  private static func result(of sign: String, _ left: ScriptValue, _ right: ScriptValue) -> ScriptValue {
    switch sign {
    case "==": return .bool(left.isLooselyEqual(to: right))
    case "!=": return .bool(!left.isLooselyEqual(to: right))
    case "===": return .bool(left == right)
    case "!==": return .bool(left != right)
    case "+":
      if left.string == nil, right.string == nil { return .number(left.asNumber + right.asNumber) }
      return .string(left.bindingText + right.bindingText)
    case "-": return .number(left.asNumber - right.asNumber)
    case "*": return .number(left.asNumber * right.asNumber)
    case "/": return .number(left.asNumber / right.asNumber)
    case "%": return .number(left.asNumber.truncatingRemainder(dividingBy: right.asNumber))
    default:
      if let left = left.string, let right = right.string {
        return .bool(
          sign == "<" ? left < right : sign == ">" ? left > right : sign == "<=" ? left <= right : left >= right)
      }
      let (left, right) = (left.asNumber, right.asNumber)
      return .bool(
        sign == "<" ? left < right : sign == ">" ? left > right : sign == "<=" ? left <= right : left >= right)
    }
  }
}

extension ScriptValue {
  fileprivate var isTrue: Bool {
    switch self {
    case .undefined, .null: false
    case .bool(let value): value
    case .number(let value): value != 0 && !value.isNaN
    case .string(let text): !text.isEmpty
    case .array, .object, .data: true
    }
  }

  fileprivate var asNumber: Double {
    switch self {
    case .number(let value): value
    case .bool(let value): value ? 1 : 0
    case .null: 0
    case .string(let text): text.allSatisfy(\.isWhitespace) ? 0 : Double(text) ?? .nan
    default: .nan
    }
  }

  fileprivate var bindingText: String {
    switch self {
    case .undefined, .null: ""
    case .array, .object: jsonText
    default: plainText ?? ""
    }
  }

  fileprivate func isLooselyEqual(to other: ScriptValue) -> Bool {
    let isNothing = self == .undefined || self == .null
    if isNothing || other == .undefined || other == .null {
      return isNothing && (other == .undefined || other == .null)
    }
    if string != nil, other.string != nil { return self == other }
    switch (self, other) {
    case (.array, _), (.object, _), (_, .array), (_, .object): return self == other
    default: return asNumber == other.asNumber
    }
  }

  fileprivate func member(_ name: ScriptValue) -> ScriptValue {
    switch self {
    case .object(let members): return name.plainText.flatMap { members[$0] } ?? .undefined
    case .array(let values):
      if name == "length" { return .number(Double(values.count)) }
      guard let index = name.int ?? name.string.flatMap({ Int($0) }), values.indices.contains(index) else {
        return .undefined
      }
      return values[index]
    case .string(let text): return name == "length" ? .number(Double(text.utf16.count)) : .undefined
    default: return .undefined
    }
  }
}

/// Reads an expression by the precedence of its operators.
private struct BindingParser {
  static let lengthLimit = 2_000
  private static let depthLimit = 50
  /// The operators, by rising precedence; longer ones before those that they begin with.
  private static let levels = [
    ["||"], ["&&"], ["===", "!==", "==", "!="], ["<=", ">=", "<", ">"], ["+", "-"], ["*", "/", "%"],
  ]

  private var rest: Substring
  private var depth = 0

  init(_ text: String) { rest = text[...] }

  mutating func whole() -> BindingExpression? {
    guard let expression = conditional() else { return nil }
    skipSpaces()
    return rest.isEmpty ? expression : nil
  }

  private mutating func skipSpaces() { rest = rest.drop { $0.isWhitespace } }

  private mutating func take(_ text: String) -> Bool {
    skipSpaces()
    guard rest.hasPrefix(text) else { return false }
    rest = rest.dropFirst(text.count)
    return true
  }

  private mutating func conditional() -> BindingExpression? {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.depthLimit, let condition = infix(0) else { return nil }
    guard take("?") else { return condition }
    guard let first = conditional(), take(":"), let second = conditional() else { return nil }
    return .conditional(condition, first, second)
  }

  private mutating func infix(_ level: Int) -> BindingExpression? {
    guard level < Self.levels.count else { return unary() }
    guard var left = infix(level + 1) else { return nil }
    while let sign = Self.levels[level].first(where: { take($0) }) {
      guard let right = infix(level + 1) else { return nil }
      left = .infix(sign, left, right)
    }
    return left
  }

  private mutating func unary() -> BindingExpression? {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.depthLimit else { return nil }
    for sign in ["!", "-", "+"] where take(sign) { return unary().map { .prefix(sign, $0) } }
    guard var expression = primary() else { return nil }
    while true {
      if take(".") {
        guard let name = identifier() else { return nil }
        expression = .member(expression, .literal(.string(name)))
      } else if take("[") {
        guard let name = conditional(), take("]") else { return nil }
        expression = .member(expression, name)
      } else {
        return expression
      }
    }
  }

  private mutating func primary() -> BindingExpression? {
    if take("(") {
      guard let inner = conditional(), take(")") else { return nil }
      return inner
    }
    guard let first = rest.first else { return nil }
    if first == "'" || first == "\"" || first == "`" { return quoted(first) }
    if first.isASCII, first.isNumber {
      let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
      rest = rest.dropFirst(digits.count)
      return Double(digits).map { .literal(.number($0)) }
    }
    guard let name = identifier() else { return nil }
    switch name {
    case "true": return .literal(true)
    case "false": return .literal(false)
    case "null": return .literal(nil)
    case "undefined": return .literal(.undefined)
    default: return .name(name)
    }
  }

  private mutating func identifier() -> String? {
    skipSpaces()
    guard let first = rest.first, first.isLetter || first == "_" || first == "$" else { return nil }
    let name = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "$" }
    rest = rest.dropFirst(name.count)
    return String(name)
  }

  private mutating func quoted(_ quote: Character) -> BindingExpression? {
    rest = rest.dropFirst()
    var text = ""
    while let next = rest.popFirst() {
      if next == quote { return .literal(.string(text)) }
      if next == "\\", let escaped = rest.popFirst() {
        text.append(escaped == "n" ? "\n" : escaped == "t" ? "\t" : escaped)
      } else {
        text.append(next)
      }
    }
    return nil
  }
}
