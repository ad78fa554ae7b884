import CurlTransport
import Foundation
import HTTPTransport
import HTTPTypes
import Synchronization

@testable import CacheGateway
@testable import RenderHost

/// The results of the traffic test's clients.
final class TrafficTally: Sendable {
  struct Counts: Sendable {
    var answers: [String: Int] = [:]
    var wrong: [String] = []
    /// By item: answers made before this time must not be sent any more.
    var floors: [Int: Int64] = [:]
  }

  private let state = Mutex(Counts())

  var counts: Counts { state.withLock(\.self) }

  func count(_ what: String) { state.withLock { $0.answers[what, default: 0] += 1 } }

  func wrong(_ what: String) {
    state.withLock { if $0.wrong.count < 20 { $0.wrong.append(what) } }
  }

  func floor(of item: TrafficItem) -> Int64 { state.withLock { $0.floors[item.number] ?? 0 } }

  func raiseFloor(of item: TrafficItem, to time: Int64) {
    state.withLock { $0.floors[item.number] = max($0.floors[item.number] ?? 0, time) }
  }
}

/// One of many clients: sends requests of every kind, and checks every answer.
struct TrafficClient: Sendable {
  let name: String
  let base: String
  let clock: TrafficClock
  let tally: TrafficTally
  let transport: CurlTransport

  static let items = 40
  private static let languages = ["en", "de", "fr"]

  func run(until end: ContinuousClock.Instant) async throws {
    var seen: [TrafficItem: String] = [:]
    while .now < end {
      let item = TrafficItem(number: .random(in: 0..<Self.items))
      let language = Self.languages.randomElement() ?? "en"
      var fields: HTTPFields = [.acceptLanguage: language, TrafficClock.client: name]
      var method = HTTPRequest.Method.get
      switch Int.random(in: 0..<100) {
      case 0..<10: fields[.ifNoneMatch] = seen[item]
      case 10..<16: fields[.range] = "bytes=\(Int.random(in: 0..<100))-\(Int.random(in: 100..<5_000))"
      case 16..<18: method = .post
      default: break
      }
      let word = item.kind == .varied ? language : item.kind == .personal ? name : "all"
      if let etag = try await ask(item, method, fields, word: word) { seen[item] = etag }
    }
  }

  /// - Returns: the answer's tag, if the answer is complete.
  private func ask(
    _ item: TrafficItem, _ method: HTTPRequest.Method, _ fields: HTTPFields, word: String
  ) async throws -> String? {
    guard let url = PageURL(base + item.path), let head = HTTPRequest(method: method, url: url, fields: fields) else {
      return nil
    }
    let (floor, started) = (tally.floor(of: item), clock.now)
    do {
      let response = try await transport.send(TransportRequest(head))
      let body = try await response.body.collect(upTo: 16 << 20)
      tally.count("\(response.head.status.code)")
      if method == .post {
        // Answers that were stored before the request are not used any more, whatever its result.
        if response.head.status == .noContent { tally.raiseFloor(of: item, to: started) }
        return nil
      }
      let answer = TrafficAnswer(item: item, word: word, request: fields, head: response.head, body: body)
      if let fault = answer.fault(askedAt: started, floor: floor) { tally.wrong("\(item.path) \(item.kind): \(fault)") }
      return response.head.status == .ok ? response.head.headerFields[.eTag] : nil
    } catch is TransportError {
      // The cut is announced: no client takes the answer for complete.
      tally.count("cut")
      return nil
    }
  }
}

/// An answer, and the expected one.
struct TrafficAnswer {
  let item: TrafficItem
  let word: String
  let request: HTTPFields
  let head: HTTPResponse
  let body: [UInt8]

  /// Dates have whole seconds, and both ends of a span are rounded.
  private static let rounding: Duration = .seconds(2)

  /// The error of the answer; `nil` for none.
  func fault(askedAt started: Int64, floor: Int64) -> String? {
    let fields = head.headerFields
    switch head.status.code {
    case 502, 503, 504: return nil
    case 416: return request.contains(.range) ? nil : "416 without a range"
    case 200, 206, 304: break
    default: return "status \(head.status.code)"
    }
    guard let etag = fields[.eTag], let named = TrafficItem.parts(of: etag) else { return "no tag: \(fields)" }
    guard named.number == item.number, named.word == word else { return "it is another’s: \(etag), not \(word)" }
    if let fault = contentFault(named.version, etag) { return fault }
    // RFC 9110 §15.4.5: it has only the fields that identify the answer.
    if head.status == .notModified { return nil }
    guard let made = fields[TrafficClock.made].flatMap({ Int64($0) }) else { return "it is not dated" }
    if made < floor { return "made at \(made), but nothing from before \(floor) may be given: \(fields)" }
    let age = Duration.microseconds(started - made)
    if age > item.kind.longestUse + Self.rounding { return "\(age) old: \(fields)" }
    return nil
  }

  private func contentFault(_ version: Int, _ etag: String) -> String? {
    let whole = item.body(version: version, word: word)
    switch head.status.code {
    case 304:
      return request[.ifNoneMatch] == etag && body.isEmpty ? nil : "304 for \(etag), asked with \(request)"
    case 206:
      guard let range = Self.range(head.headerFields[.contentRange]), range.upperBound <= whole.count else {
        return "no range of \(whole.count): \(head.headerFields)"
      }
      return Array(whole[range]) == body ? nil : "the part is not of \(etag)"
    default:
      return whole == body ? nil : "\(body.count) bytes that are not the \(whole.count) of \(etag)"
    }
  }

  /// RFC 9110 §14.4.
  private static func range(_ field: String?) -> Range<Int>? {
    let numbers = (field ?? "").split { !$0.isNumber }.compactMap { Int($0) }
    // The size is unknown until the end has arrived.
    guard numbers.count >= 2, numbers[0] <= numbers[1] else { return nil }
    return numbers[0]..<numbers[1] + 1
  }
}
