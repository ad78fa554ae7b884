import HTTPTypes
import RawStructuredFieldValues

/// The directives of `Cache-Control`, or of a targeted field of the same form. RFC 9111 §5.2.
///
/// Unknown directives are ignored; names are not case-sensitive. If a directive is repeated, the first number applies
/// (RFC 9111 §4.2.1); all occurrences of `no-cache` and `private` apply, since they only restrict. Numbers are seconds,
/// from 0 to ``longestSeconds``.
///
///     let control = CacheControl(response.headerFields[values: .cacheControl])
///     print(control.maxAge ?? 0, control.noStore, control.staleWhileRevalidate ?? 0)
public struct CacheControl: Hashable, Sendable {
  /// The part of a response that a directive concerns.
  public enum Scope: Hashable, Sendable {
    /// The whole response.
    case response
    /// Only the fields with these lower-case names.
    case fields(Set<String>)
  }

  /// The staleness that a client accepts. RFC 9111 §5.2.1.2.
  public enum MaxStale: Hashable, Sendable {
    /// Any staleness.
    case any
    /// At most this number of seconds.
    case seconds(Int64)
  }

  // MARK: Responses

  /// `public`: the response may be stored, also where a rule forbids it otherwise. RFC 9111 §5.2.2.9.
  public private(set) var isPublic = false
  /// `private`: a shared cache must not store the response, or those fields of it; `nil` if the directive is absent.
  /// RFC 9111 §5.2.2.7.
  public private(set) var isPrivate: Scope?
  /// `no-cache`: the response, or those fields of it, must be validated before its reuse; in a request, every stored
  /// response must. `nil` if the directive is absent. RFC 9111 §5.2.1.4, §5.2.2.4.
  public private(set) var noCache: Scope?
  /// `no-store`, in a request or a response. RFC 9111 §5.2.1.5, §5.2.2.5.
  public private(set) var noStore = false
  /// `must-revalidate`: a stale response must be validated before its reuse. RFC 9111 §5.2.2.2.
  public private(set) var mustRevalidate = false
  /// `proxy-revalidate`: the same, for shared caches. RFC 9111 §5.2.2.8.
  public private(set) var proxyRevalidate = false
  /// `must-understand`: only a cache that knows the status may store the response. RFC 9111 §5.2.2.3.
  public private(set) var mustUnderstand = false
  /// `no-transform`: the content must not be changed. RFC 9111 §5.2.1.6, §5.2.2.6.
  public private(set) var noTransform = false
  /// `immutable`: a fresh response need not be validated when the user reloads. RFC 8246.
  public private(set) var isImmutable = false
  /// `max-age` in seconds; 0 for an invalid value, so that the response is stale. RFC 9111 §4.2.1, §5.2.1.1, §5.2.2.1.
  public private(set) var maxAge: Int64?
  /// `s-maxage` in seconds, for shared caches; 0 for an invalid value. RFC 9111 §5.2.2.10.
  public private(set) var sharedMaxAge: Int64?
  /// `stale-while-revalidate` in seconds. RFC 5861 §3.
  public private(set) var staleWhileRevalidate: Int64?
  /// `stale-if-error` in seconds, in a request or a response. RFC 5861 §4.
  public private(set) var staleIfError: Int64?

  // MARK: Requests

  /// `max-stale`; `nil` if the directive is absent. RFC 9111 §5.2.1.2.
  public private(set) var maxStale: MaxStale?
  /// `min-fresh` in seconds: for so long a stored response has to stay fresh. RFC 9111 §5.2.1.3.
  public private(set) var minFresh: Int64?
  /// `only-if-cached`: the origin must not be asked. RFC 9111 §5.2.1.7.
  public private(set) var onlyIfCached = false

  /// Creates an empty set of directives.
  public init() {}

  /// Reads directives. An invalid member is skipped up to the next comma.
  ///
  /// - Parameter values: the value of each field line, in order.
  public init(_ values: some Sequence<String>) {
    for value in values {
      for directive in DirectiveParser(value) { apply(directive) }
    }
  }

  mutating func apply(_ directive: Directive) {
    switch directive.name {
    // A directive with an invalid argument permits nothing.
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
    default: break  // RFC 9111 §5.2.3: unknown directives are ignored
    }
  }

  /// The bare directive restricts more than field names, and therefore wins. An invalid argument counts as the bare
  /// directive.
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
  /// The limit of delta-seconds: larger values count as 2³¹. RFC 9111 §1.2.2.
  public static let longestSeconds: Int64 = 1 << 31
}

// MARK: - Of a request and of a response

extension CacheControl {
  private static let pragma = HTTPField.Name("Pragma")

  /// Reads the directives of a request: those of `Cache-Control`, or of `Pragma` without it. RFC 9111 §5.4.
  ///
  /// - Parameter fields: the fields of the request.
  public init(request fields: HTTPFields) {
    let lines = fields[values: .cacheControl]
    guard lines.isEmpty, let pragma = Self.pragma else {
      self.init(lines)
      return
    }
    let names = fields[values: pragma].flatMap { DirectiveParser($0).map(\.name) }
    self.init(names.contains("no-cache") ? ["no-cache"] : [])
  }
}

extension CachePolicy {
  /// The directives of a response that apply to this cache: those of its targeted field, or of `Cache-Control`.
  /// RFC 9213 §2.2. A targeted field with more than 1,024 members and parameters counts as invalid.
  ///
  /// - Parameter fields: the fields of the response.
  /// - Returns: the directives; and `true` if they come from a targeted field, which disables `Cache-Control` and
  ///   `Expires`.
  public func control(of fields: HTTPFields) -> (directives: CacheControl, isTargeted: Bool) {
    for name in targets {
      if let directives = CacheControl(targeted: fields[values: name]) { return (directives, true) }
    }
    return (CacheControl(fields[values: .cacheControl]), false)
  }
}

extension CacheControl {
  /// The limit of members and parameters in a targeted field, together: every parser must accept so many members.
  /// RFC 8941 §3.2.
  private static let mostMembers = 1024

  /// Returns `nil` if the field is absent, empty or invalid, which count the same. RFC 9213 §2.1. So does a field with more
  /// than ``mostMembers``: the parser compares each name with all before it.
  fileprivate init?(targeted lines: [String]) {
    guard !lines.isEmpty else { return nil }
    let bytes = Array(lines.joined(separator: ", ").utf8)
    let separators = bytes.count { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ";") }
    guard separators < Self.mostMembers else { return nil }
    var parser = StructuredFieldValueParser(bytes)
    guard let dictionary = try? parser.parseDictionaryFieldValue(), !dictionary.isEmpty else { return nil }
    self.init()
    for (name, member) in dictionary {
      guard case .item(let item) = member, let directive = Self.directive(name, item.rfc9651BareItem) else { continue }
      apply(directive)
    }
  }

  /// Returns `nil` if the type of the value does not fit the directive. RFC 9213 §2.1.
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

/// A directive with its unquoted argument.
struct Directive: Equatable {
  let name: String
  let argument: String?
  /// `false` if the argument does not follow the grammar.
  var isReadable = true

  /// The argument as seconds; `nil` if it contains anything but digits.
  var seconds: Int64? {
    guard isReadable, let argument, !argument.isEmpty, argument.utf8.allSatisfy({ (48...57).contains($0) }) else {
      return nil
    }
    return min(Int64(argument) ?? CacheControl.longestSeconds, CacheControl.longestSeconds)
  }

  /// The lower-case names in the argument; empty if it is not a list of field names.
  var fieldNames: Set<String> {
    guard isReadable else { return [] }
    let names = (argument ?? "").split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" })
    guard names.allSatisfy({ $0.utf8.allSatisfy(DirectiveParser.isToken) }) else { return [] }
    return Set(names.map { $0.lowercased() })
  }
}

/// Parses directives: `token [ "=" ( token / quoted-string ) ]`, separated by commas. Parsing never fails: an invalid
/// member is skipped up to the next comma.
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
      // Further bytes before the comma make the argument invalid, but not the directive.
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

  /// RFC 9110 §5.6.4: a string without closing quote extends to the end of the value, and is invalid.
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

  /// Returns `true` if the byte may be in a token. RFC 9110 §5.6.2.
  static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case 48...57, 65...90, 97...122: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}

extension UInt8 {
  /// `true` if the byte may be in a token. RFC 9110 §5.6.2.
  package var isInToken: Bool { DirectiveParser.isToken(self) }
}

extension StringProtocol {
  /// The text without leading and trailing spaces and tabs. RFC 9110 §5.6.3.
  package var trimmingSpaces: String {
    let isSpace = { (byte: UInt8) in byte == 32 || byte == 9 }
    var bytes = Substring(self).utf8
    while let first = bytes.first, isSpace(first) { bytes.removeFirst() }
    while let last = bytes.last, isSpace(last) { bytes.removeLast() }
    return String(Substring(bytes))
  }
}
