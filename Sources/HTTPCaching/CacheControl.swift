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
