import Foundation
import HTTPTypes
import PageTesting

/// A resource of the traffic test's origin. Its bodies are a function of the item, its version and the language, so
/// that any byte of another one shows.
struct TrafficItem: Hashable, Sendable {
  /// The storage and freshness of its answers.
  enum Kind: String, CaseIterable {
    case strict, revalidated, offline, varied, personal

    var control: String {
      switch self {
      case .strict: "max-age=1, must-revalidate"
      case .revalidated: "max-age=1, stale-while-revalidate=2, stale-if-error=0"
      case .offline: "max-age=1, stale-if-error=3"
      case .varied: "s-maxage=2"
      case .personal: "private, max-age=60"
      }
    }

    /// The seconds for which an answer may be used after it was made or confirmed, by the rule.
    var longestUse: Duration {
      switch self {
      case .strict: .seconds(1)
      case .revalidated: .seconds(3)
      case .offline: .seconds(4)
      case .varied: .seconds(2)
      case .personal: .zero
      }
    }
  }

  let number: Int
  var kind: Kind { Kind.allCases[number % Kind.allCases.count] }
  var path: String { "/item/\(number)" }

  init(number: Int) { self.number = number }

  init?(path: String) {
    guard let number = path.split(separator: "/").last.flatMap({ Int($0) }) else { return nil }
    self.number = number
  }

  /// The sizes are from a few bytes to over a hundred kilobytes.
  func body(version: Int, word: String) -> [UInt8] {
    let line = "item \(number) version \(version) \(word)\n"
    let count = 1 + (number &* 7_919 &+ version &* 104_729) % 3_000
    return Array(String(repeating: line, count: count).utf8)
  }

  func etag(version: Int, word: String) -> String { "\"\(number)-\(version)-\(word)\"" }

  /// The version and the word in an `ETag`.
  static func parts(of etag: String) -> (number: Int, version: Int, word: String)? {
    let parts = etag.trimmingCharacters(in: ["\""]).split(separator: "-").map(String.init)
    guard parts.count == 3, let number = Int(parts[0]), let version = Int(parts[1]) else { return nil }
    return (number, version, parts[2])
  }
}

/// A clock that starts with the traffic, in microseconds.
struct TrafficClock: Sendable {
  static let made = HTTPField.Name("X-Made") ?? .age
  static let client = HTTPField.Name("X-Client") ?? .from

  let start = ContinuousClock.now

  var now: Int64 { Int64((ContinuousClock.now - start) / .microseconds(1)) }

  /// Answers like the origin.
  func answer(_ request: OriginRequest) -> OriginResponse {
    guard let item = TrafficItem(path: request.path) else { return OriginResponse(status: .notFound) }
    // Items with even numbers change often; the others can be validated.
    let version = Int(now / (item.number % 2 == 0 ? 400_000 : 2_500_000))
    let word =
      switch item.kind {
      case .varied: request.headers[.acceptLanguage] ?? "none"
      case .personal: request.headers[Self.client] ?? "nobody"
      default: "all"
      }
    let etag = item.etag(version: version, word: word)
    var fields: HTTPFields = [.cacheControl: item.kind.control, .eTag: etag, Self.made: "\(now)"]
    if item.kind == .varied { fields[.vary] = "Accept-Language" }
    if request.method == .post { return OriginResponse(status: .noContent, headers: [Self.made: "\(now)"]) }
    if request.headers[.ifNoneMatch] == etag { return OriginResponse(status: .notModified, headers: fields) }
    return OriginResponse(headers: fields, body: item.body(version: version, word: word))
  }
}
