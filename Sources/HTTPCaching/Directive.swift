/// One directive with its argument, unquoted.
struct Directive: Equatable {
  let name: String
  let argument: String?
  /// False where more stands beside the argument than the grammar allows.
  var isReadable = true

  /// A count of seconds; nil for anything but digits.
  var seconds: Int64? {
    guard isReadable, let argument, !argument.isEmpty, argument.utf8.allSatisfy({ (48...57).contains($0) }) else {
      return nil
    }
    return min(Int64(argument) ?? CacheControl.longestSeconds, CacheControl.longestSeconds)
  }

  /// Lower-case names of an argument that is a list of fields; empty for everything else.
  var fieldNames: Set<String> {
    guard isReadable else { return [] }
    let names = (argument ?? "").split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" })
    guard names.allSatisfy({ $0.utf8.allSatisfy(DirectiveParser.isToken) }) else { return [] }
    return Set(names.map { $0.lowercased() })
  }
}

/// Takes a value apart: `token [ "=" ( token / quoted-string ) ]`, separated by commas. Never fails: what is no
/// directive is passed over up to the next comma.
struct DirectiveParser: Sequence, IteratorProtocol {
  private var rest: Substring.UTF8View

  init(_ value: String) { rest = value[...].utf8 }

  mutating func next() -> Directive? {
    while !rest.isEmpty {
      skip { $0 == UInt8(ascii: ",") || Self.isSpace($0) }
      let name = take(while: Self.isToken)
      guard !name.isEmpty else {
        skip { $0 != UInt8(ascii: ",") }
        continue
      }
      var argument: String?
      var isReadable = true
      if rest.first == UInt8(ascii: "=") {
        rest.removeFirst()
        if rest.first == UInt8(ascii: "\"") {
          (argument, isReadable) = takeQuoted()
        } else {
          argument = take(while: Self.isToken)
        }
      }
      // Whatever else stands before the comma makes the value unreadable, not the directive.
      while let byte = rest.first, byte != UInt8(ascii: ",") {
        if !Self.isSpace(byte) { isReadable = false }
        rest.removeFirst()
      }
      return Directive(name: name.lowercased(), argument: argument, isReadable: isReadable)
    }
    return nil
  }

  private mutating func skip(while condition: (UInt8) -> Bool) {
    while let byte = rest.first, condition(byte) { rest.removeFirst() }
  }

  private mutating func take(while condition: (UInt8) -> Bool) -> String {
    let start = rest.startIndex
    let whole = rest
    skip(while: condition)
    return String(Substring(whole[start..<rest.startIndex]))
  }

  /// RFC 9110 §5.6.4; a string without its end goes to the end of the value, and cannot be read.
  private mutating func takeQuoted() -> (String, hasEnd: Bool) {
    rest.removeFirst()
    var bytes: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\"") { return (String(decoding: bytes, as: UTF8.self), true) }
      if byte != UInt8(ascii: "\\") {
        bytes.append(byte)
      } else if let escaped = rest.popFirst() {
        bytes.append(escaped)
      }
    }
    return (String(decoding: bytes, as: UTF8.self), false)
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }

  /// RFC 9110 §5.6.2.
  static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case 48...57, 65...90, 97...122: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}

extension UInt8 {
  /// Whether tokens may have this byte. RFC 9110 §5.6.2.
  package var isInToken: Bool { DirectiveParser.isToken(self) }
}
