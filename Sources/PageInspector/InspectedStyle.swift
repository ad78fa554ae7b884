import HTTPTransport
import PageRuntime
import ScriptEngine

/// The style of an element as a debugger edits it: its declarations in the order of the debugger's text, with those that it
/// has switched off. A pure value.
struct InspectedStyle: Hashable, Sendable {
  struct Declaration: Hashable, Sendable {
    /// The name as in CSS.
    let name: String
    var value: String
    /// `false` for one that the debugger has switched off, which is a comment in its text.
    var isOn = true

    var text: String { isOn ? "\(name): \(value);" : "/* \(name): \(value); */" }
  }

  private(set) var declarations: [Declaration] = []

  /// The largest length of a text in bytes.
  static let textLimit = 64 << 10
  /// The largest number of declarations.
  private static let countLimit = 500
  /// The largest length of a property's name in bytes.
  private static let nameLimit = 50

  init() {}

  /// The text, in one line.
  var text: String { declarations.map(\.text).joined(separator: " ") }

  /// The value of each property that has one.
  private var values: [String: String] {
    Dictionary(declarations.lazy.filter(\.isOn).map { ($0.name, $0.value) }) { $1 }
  }

  /// Takes over the present style of the element; the order stays, and what is off stays off.
  mutating func follow(_ present: [(name: String, value: String)]) {
    let values = Dictionary(present) { $1 }
    var counted: Set<String> = []
    var kept: [Declaration] = []
    for var declaration in declarations.reversed() {
      if declaration.isOn {
        // Of several declarations of a property the last one counts.
        guard let value = values[declaration.name] else { continue }
        if counted.insert(declaration.name).inserted { declaration.value = value }
      }
      kept.append(declaration)
    }
    declarations = kept.reversed()
    for (name, value) in present where counted.insert(name).inserted {
      declarations.append(Declaration(name: name, value: values[name] ?? value))
    }
  }

  /// The changes of an element's style that lead from another text to this one; `null` for a property that goes.
  func changes(from former: InspectedStyle, of element: ElementTree.Element) -> [String: JSONValue] {
    let (old, new) = (former.values, values)
    var changes: [String: JSONValue] = [:]
    for name in Set(old.keys).union(new.keys) where old[name] != new[name] {
      let known = element.style.keys.filter { InlineStyle.kebab($0) == name }
      for key in known.isEmpty ? [Self.camel(name)] : known { changes[key] = new[name].map { .string($0) } ?? .null }
    }
    return changes
  }

  /// `background-color` → `backgroundColor`
  private static func camel(_ name: String) -> String {
    let parts = name.split(separator: "-")
    guard let first = parts.first, !name.hasPrefix("-") else { return name }
    return parts.dropFirst().reduce(String(first)) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
  }

  // MARK: The protocol

  /// The style as a `CSS.CSSStyle`.
  ///
  /// - Parameter id: the id under which the debugger edits it.
  func json(id: String) -> ScriptValue {
    // A script may have set what is not written as CSS: the debugger shows it, and cannot edit the style.
    guard (try? InspectedStyle(reading: text))?.declarations == declarations else {
      return [
        "cssProperties": .array(declarations.map { ["name": .string($0.name), "value": .string($0.value)] }),
        "shorthandEntries": [],
      ]
    }
    var column = 0
    let properties: [ScriptValue] = declarations.map { declaration in
      let text = declaration.text
      defer { column += text.utf16.count + 1 }
      return [
        "name": .string(declaration.name), "value": .string(declaration.value), "text": .string(text),
        "disabled": .bool(!declaration.isOn), "range": Self.range(column..<column + text.utf16.count),
      ]
    }
    return [
      "styleSheetId": .string(id), "cssText": .string(text), "range": Self.range(0..<text.utf16.count),
      "cssProperties": .array(properties), "shorthandEntries": [],
    ]
  }

  private static func range(_ columns: Range<Int>) -> ScriptValue {
    [
      "startLine": 0, "startColumn": ScriptValue(columns.lowerBound), "endLine": 0,
      "endColumn": ScriptValue(columns.upperBound),
    ]
  }

  /// The style after a text has taken the place of a range of its own text.
  ///
  /// - Throws: ``InspectorFault``.
  func replacing(_ range: ScriptValue, by new: String) throws(InspectorFault) -> InspectedStyle {
    let text = Array(text.utf16)
    guard range["startLine"].int == 0, range["endLine"].int == 0, let start = range["startColumn"].int,
      let end = range["endColumn"].int, 0 <= start, start <= end, end <= text.count
    else {
      throw InspectorFault(
        .failed, "the range is not one of the style's text, which is one line of \(text.count) characters")
    }
    guard new.utf8.count <= Self.textLimit else {
      throw InspectorFault(.failed, "the text has \(new.utf8.count) bytes; the limit is \(Self.textLimit)")
    }
    return try InspectedStyle(
      reading: String(decoding: text[..<start], as: UTF16.self) + new + String(decoding: text[end...], as: UTF16.self))
  }

  // MARK: Reading

  /// Reads declarations of CSS.
  ///
  /// - Throws: ``InspectorFault`` with a sentence about the first part that is none.
  init(reading text: String) throws(InspectorFault) {
    guard text.utf8.count <= 2 * Self.textLimit else {
      throw InspectorFault(.failed, "the style has \(text.utf8.count) bytes; the limit is \(2 * Self.textLimit)")
    }
    for part in try Self.parts(of: text) {
      if part.isComment {
        // A comment that is not a declaration says nothing to the page.
        let inner = (try? Self.parts(of: part.text)) ?? []
        if inner.count == 1, !inner[0].isComment, var declaration = try? Declaration(reading: inner[0].text) {
          declaration.isOn = false
          declarations.append(declaration)
        }
      } else {
        declarations.append(try Declaration(reading: part.text))
      }
      guard declarations.count <= Self.countLimit else {
        throw InspectorFault(.failed, "the style has more than \(Self.countLimit) declarations, which is the limit")
      }
    }
  }

  /// The declarations and the comments between them, without what ends them.
  private static func parts(of text: String) throws(InspectorFault) -> [(text: String, isComment: Bool)] {
    var parts: [(text: String, isComment: Bool)] = []
    var part = String.UnicodeScalarView()
    var rest = Substring(text).unicodeScalars
    var depth = 0
    func isBlank() -> Bool { part.allSatisfy(\.properties.isWhitespace) }
    func finish() {
      if !isBlank() { parts.append((String(part), false)) }
      part = String.UnicodeScalarView()
    }
    while let next = rest.popFirst() {
      switch next {
      case "/" where rest.first == "*":
        rest.removeFirst()
        var comment = String.UnicodeScalarView()
        while !(rest.first == "*" && rest.dropFirst().first == "/") {
          guard let inner = rest.popFirst() else { throw InspectorFault(.failed, "a comment of the style has no end") }
          comment.append(inner)
        }
        rest.removeFirst(2)
        // One in a declaration separates what is around it.
        if isBlank() { parts.append((String(comment), true)) } else { part.append(" ") }
      case "\"", "'":
        part.append(next)
        var isClosed = false
        while !isClosed {
          guard let inner = rest.popFirst() else {
            throw InspectorFault(.failed, "a quotation of the style has no end")
          }
          part.append(inner)
          isClosed = inner == next
          if inner == "\\", let escaped = rest.popFirst() { part.append(escaped) }
        }
      case ";" where depth == 0: finish()
      default:
        if next == "(" { depth += 1 }
        if next == ")" { depth -= 1 }
        part.append(next)
      }
    }
    guard depth == 0 else { throw InspectorFault(.failed, "the parentheses of the style are not closed") }
    finish()
    return parts
  }
}

extension InspectedStyle.Declaration {
  /// Reads a declaration without its end.
  ///
  /// - Throws: ``InspectorFault``.
  fileprivate init(reading text: String) throws(InspectorFault) {
    let name = String(text.prefix { $0 != ":" }).trimmed
    let value = String(text.drop { $0 != ":" }.dropFirst()).trimmed
    guard text.contains(":"), !name.isEmpty,
      name.utf8.allSatisfy({ $0.isUnreserved && $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "~") })
    else {
      throw InspectorFault(.failed, "\(text.trimmed.quotedForMessage) is not a declaration such as \"color: red\"")
    }
    guard name.utf8.count <= InspectedStyle.nameLimit else {
      throw InspectorFault(
        .failed, "the name of a property has \(name.utf8.count) bytes; the limit is \(InspectedStyle.nameLimit)")
    }
    guard !value.isEmpty else { throw InspectorFault(.failed, "the property \(name.quotedForMessage) has no value") }
    guard !value.lowercased().hasSuffix("!important") else {
      throw InspectorFault(.failed, "the styles of pages have no \"!important\", as \(name.quotedForMessage) has")
    }
    self.init(name: InlineStyle.kebab(name), value: value)
  }
}

extension String {
  /// The text without space around it.
  fileprivate var trimmed: String {
    String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
  }
}
