import HTTPTypes
import RawStructuredFieldValues

/// The directives of `Cache-Control`, or of a targeted field of the same form. RFC 9111 §5.2.
///
/// Directives that are not known are ignored; names do not care for case. Where one is given more than once, the first
/// counts for numbers (RFC 9111 §4.2.1), and every one for `no-cache` and `private`, which only restrict.
public struct CacheControl: Hashable, Sendable {
  /// Whether a directive concerns the whole response or only some of its fields.
  public enum Scope: Hashable, Sendable {
    case response
    /// Lower-case names.
    case fields(Set<String>)
  }

  /// What a client says of staleness. RFC 9111 §5.2.1.2.
  public enum MaxStale: Hashable, Sendable {
    case any
    case seconds(Int64)
  }

  // MARK: Responses

  public private(set) var isPublic = false
  /// Nil where the directive is absent.
  public private(set) var isPrivate: Scope?
  /// A response must be validated before it is used again; nil where the directive is absent.
  public private(set) var noCache: Scope?
  public private(set) var noStore = false
  public private(set) var mustRevalidate = false
  public private(set) var proxyRevalidate = false
  public private(set) var mustUnderstand = false
  public private(set) var noTransform = false
  /// RFC 8246.
  public private(set) var isImmutable = false
  /// Seconds; an unreadable value is 0, which makes the response stale. RFC 9111 §4.2.1.
  public private(set) var maxAge: Int64?
  /// Seconds, for shared caches.
  public private(set) var sharedMaxAge: Int64?
  /// Seconds. RFC 5861 §3.
  public private(set) var staleWhileRevalidate: Int64?
  /// Seconds. RFC 5861 §4.
  public private(set) var staleIfError: Int64?

  // MARK: Requests

  public private(set) var maxStale: MaxStale?
  /// Seconds.
  public private(set) var minFresh: Int64?
  public private(set) var onlyIfCached = false

  public init() {}

  /// - Parameter values: of each field line, in order.
  public init(_ values: some Sequence<String>) {
    for value in values {
      for directive in DirectiveParser(value) { apply(directive) }
    }
  }

  mutating func apply(_ directive: Directive) {
    switch directive.name {
    // What cannot be read grants nothing.
    case "public": isPublic = isPublic || directive.isReadable
    case "private": isPrivate = Self.widened(isPrivate, directive)
    case "no-cache": noCache = Self.widened(noCache, directive)
    case "no-store": noStore = true
    case "must-revalidate": mustRevalidate = true
    case "proxy-revalidate": proxyRevalidate = true
    case "must-understand": mustUnderstand = true
    case "no-transform": noTransform = true
    case "immutable": isImmutable = isImmutable || directive.isReadable
    case "only-if-cached": onlyIfCached = true
    case "max-age": maxAge = maxAge ?? directive.seconds ?? 0
    case "s-maxage": sharedMaxAge = sharedMaxAge ?? directive.seconds ?? 0
    case "stale-while-revalidate": staleWhileRevalidate = staleWhileRevalidate ?? directive.seconds
    case "stale-if-error": staleIfError = staleIfError ?? directive.seconds
    case "min-fresh": minFresh = minFresh ?? directive.seconds
    case "max-stale" where maxStale == nil:
      maxStale =
        directive.argument == nil && directive.isReadable ? .any : directive.seconds.map { .seconds($0) }
    default: break  // RFC 9111 §5.2.3: unknown ones are ignored
    }
  }

  /// Field names restrict less than the bare directive, so that it wins; so does what cannot be read.
  private static func widened(_ scope: Scope?, _ directive: Directive) -> Scope {
    let names = directive.fieldNames
    switch scope {
    case .response: return .response
    case .fields(let known) where !names.isEmpty: return .fields(known.union(names))
    case .fields: return .response
    case nil: return names.isEmpty ? .response : .fields(names)
    }
  }
}

extension CacheControl {
  /// RFC 9111 §1.2.2: what is larger counts as 2³¹ seconds, and so does what overflows.
  public static let longestSeconds: Int64 = 1 << 31
}

// MARK: - Of a request and of a response

/// What a request says of caching.
struct RequestControl {
  let directives: CacheControl

  init(_ fields: HTTPFields) {
    let lines = fields[values: .cacheControl]
    // RFC 9111 §5.4: Pragma counts only where there is no Cache-Control.
    if lines.isEmpty, let pragma = HTTPField.Name("Pragma") {
      let names = fields[values: pragma].flatMap { DirectiveParser($0).map(\.name) }
      directives = names.contains("no-cache") ? CacheControl(["no-cache"]) : CacheControl()
    } else {
      directives = CacheControl(lines)
    }
  }
}

/// Which field says how a response may be cached, and what it says.
struct ResponseControl: Hashable, Sendable {
  let directives: CacheControl
  /// From a targeted field: `Cache-Control` and `Expires` do not count then. RFC 9213 §2.2.
  let isTargeted: Bool

  init(of fields: HTTPFields, policy: CachePolicy) {
    for name in policy.targets {
      if let directives = Self.targeted(fields[values: name]) {
        self.directives = directives
        isTargeted = true
        return
      }
    }
    directives = CacheControl(fields[values: .cacheControl])
    isTargeted = false
  }

  /// Nil where the field is absent, empty or unreadable: it counts as absent then. RFC 9213 §2.1.
  private static func targeted(_ lines: [String]) -> CacheControl? {
    guard !lines.isEmpty else { return nil }
    var parser = StructuredFieldValueParser(Array(lines.joined(separator: ", ").utf8))
    guard let dictionary = try? parser.parseDictionaryFieldValue(), !dictionary.isEmpty else { return nil }
    var control = CacheControl()
    for (name, member) in dictionary {
      guard case .item(let item) = member, let directive = directive(name, item.rfc9651BareItem) else { continue }
      control.apply(directive)
    }
    return control
  }

  /// Nil for a value of a type that the directive does not have. RFC 9213 §2.1.
  private static func directive(_ name: String, _ value: RFC9651BareItem) -> Directive? {
    let isDuration = durations.contains(name)
    switch value {
    case .integer(let number) where isDuration && number >= 0: return Directive(name: name, argument: String(number))
    case .bool(true) where !isDuration: return Directive(name: name, argument: nil)
    case .string(let text) where lists.contains(name): return Directive(name: name, argument: text)
    default: return nil
    }
  }

  private static let durations: Set<String> = ["max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"]
  private static let lists: Set<String> = ["no-cache", "private"]
}

// MARK: - Parsing

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

extension StringProtocol {
  /// Without spaces and tabs at its ends. RFC 9110 §5.6.3.
  package var trimmingSpaces: String {
    let isSpace = { (byte: UInt8) in byte == 32 || byte == 9 }
    var bytes = Substring(self).utf8
    while let first = bytes.first, isSpace(first) { bytes.removeFirst() }
    while let last = bytes.last, isSpace(last) { bytes.removeLast() }
    return String(Substring(bytes))
  }
}
