import ScriptEngine

/// The data that a binding may name, the innermost last.
typealias BindingScope = [[String: ScriptValue]]

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

  /// - Parameter room: the bytes of text that bindings may still give: a script decides how often they join texts, and how
  ///   long ones.
  func value(in scope: BindingScope, _ room: inout Int) -> ScriptValue {
    switch self {
    case .literal(let value): return value
    case .name(let name): return scope.last { $0[name] != nil }?[name] ?? .undefined
    case .member(let owner, let name): return owner.value(in: scope, &room).member(name.value(in: scope, &room))
    case .prefix(let sign, let operand):
      let value = operand.value(in: scope, &room)
      return sign == "!" ? .bool(!value.isTrue) : .number(sign == "-" ? -value.asNumber : value.asNumber)
    case .conditional(let condition, let first, let second):
      return condition.value(in: scope, &room).isTrue ? first.value(in: scope, &room) : second.value(in: scope, &room)
    case .infix(let sign, let left, let right):
      let value = left.value(in: scope, &room)
      switch sign {
      case "&&": return value.isTrue ? right.value(in: scope, &room) : value
      case "||": return value.isTrue ? value : right.value(in: scope, &room)
      default: return Self.result(of: sign, value, right.value(in: scope, &room), &room)
      }
    }
  }

  /// Takes a number of bytes of the room for text, if there are so many.
  static func takes(_ count: Int, of room: inout Int) -> Bool {
    guard count <= room else { return false }
    room -= count
    return true
  }

  private static func result(
    of sign: String, _ left: ScriptValue, _ right: ScriptValue, _ room: inout Int
  ) -> ScriptValue {
    switch sign {
    case "==": return .bool(left.isLooselyEqual(to: right))
    case "!=": return .bool(!left.isLooselyEqual(to: right))
    case "===": return .bool(left == right)
    case "!==": return .bool(left != right)
    case "+":
      if left.string == nil, right.string == nil { return .number(left.asNumber + right.asNumber) }
      let (left, right) = (left.bindingText, right.bindingText)
      return takes(left.utf8.count + right.utf8.count, of: &room) ? .string(left + right) : .undefined
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
  /// `true` if a condition in a template holds for the value.
  var isTrue: Bool {
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

  /// The value as a part of a text.
  var bindingText: String {
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

  private mutating func accept(_ text: String) -> Bool {
    skipSpaces()
    guard rest.hasPrefix(text) else { return false }
    rest = rest.dropFirst(text.count)
    return true
  }

  private mutating func conditional() -> BindingExpression? {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.depthLimit, let condition = infix(0) else { return nil }
    guard accept("?") else { return condition }
    guard let first = conditional(), accept(":"), let second = conditional() else { return nil }
    return .conditional(condition, first, second)
  }

  private mutating func infix(_ level: Int) -> BindingExpression? {
    guard level < Self.levels.count else { return unary() }
    guard var left = infix(level + 1) else { return nil }
    while let sign = Self.levels[level].first(where: { accept($0) }) {
      guard let right = infix(level + 1) else { return nil }
      left = .infix(sign, left, right)
    }
    return left
  }

  private mutating func unary() -> BindingExpression? {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.depthLimit else { return nil }
    for sign in ["!", "-", "+"] where accept(sign) { return unary().map { .prefix(sign, $0) } }
    guard var expression = primary() else { return nil }
    while true {
      if accept(".") {
        guard let name = identifier() else { return nil }
        expression = .member(expression, .literal(.string(name)))
      } else if accept("[") {
        guard let name = conditional(), accept("]") else { return nil }
        expression = .member(expression, name)
      } else {
        return expression
      }
    }
  }

  private mutating func primary() -> BindingExpression? {
    if accept("(") {
      guard let inner = conditional(), accept(")") else { return nil }
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
