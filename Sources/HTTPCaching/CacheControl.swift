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
    case "public": isPublic = true
    case "private": isPrivate = Self.widened(isPrivate, directive)
    case "no-cache": noCache = Self.widened(noCache, directive)
    case "no-store": noStore = true
    case "must-revalidate": mustRevalidate = true
    case "proxy-revalidate": proxyRevalidate = true
    case "must-understand": mustUnderstand = true
    case "no-transform": noTransform = true
    case "immutable": isImmutable = true
    case "only-if-cached": onlyIfCached = true
    case "max-age": maxAge = maxAge ?? directive.seconds ?? 0
    case "s-maxage": sharedMaxAge = sharedMaxAge ?? directive.seconds ?? 0
    // What cannot be read grants nothing.
    case "stale-while-revalidate": staleWhileRevalidate = staleWhileRevalidate ?? directive.seconds
    case "stale-if-error": staleIfError = staleIfError ?? directive.seconds
    case "min-fresh": minFresh = minFresh ?? directive.seconds
    case "max-stale" where maxStale == nil:
      maxStale = directive.argument == nil ? .any : directive.seconds.map { .seconds($0) }
    default: break  // RFC 9111 §5.2.3: unknown ones are ignored
    }
  }

  /// Field names restrict less than the bare directive, so that it wins.
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

/// One directive with its argument, unquoted.
struct Directive: Equatable {
  let name: String
  let argument: String?

  /// A count of seconds; nil for anything but digits.
  var seconds: Int64? {
    guard let argument, !argument.isEmpty, argument.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return min(Int64(argument) ?? CacheControl.longestSeconds, CacheControl.longestSeconds)
  }

  /// Lower-case names of an argument that is a list of fields.
  var fieldNames: Set<String> {
    let names = (argument ?? "").split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" })
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
      if rest.first == UInt8(ascii: "=") {
        rest.removeFirst()
        argument = rest.first == UInt8(ascii: "\"") ? takeQuoted() : take(while: Self.isToken)
      }
      // Whatever else stands before the comma makes the value unreadable, not the directive.
      let trailing = take { $0 != UInt8(ascii: ",") }
      if trailing.utf8.contains(where: { !Self.isSpace($0) }) { argument = (argument ?? "") + trailing }
      return Directive(name: name.lowercased(), argument: argument)
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

  /// RFC 9110 §5.6.4; a string without its end goes to the end of the value.
  private mutating func takeQuoted() -> String {
    rest.removeFirst()
    var bytes: [UInt8] = []
    while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
      if byte == UInt8(ascii: "\\") {
        guard let escaped = rest.popFirst() else { break }
        bytes.append(escaped)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }

  /// RFC 9110 §5.6.2.
  private static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case 48...57, 65...90, 97...122: true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
