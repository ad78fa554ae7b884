import HTTPCaching
import HTTPTypes
import Testing

@testable import RenderHost

struct ServingDecisionTests {
  /// A representation of 100 bytes with the tag "a", from 10:00:00.
  private static let modified = "Sat, 21 Nov 2026 10:00:00 GMT"
  private static let earlier = "Sat, 21 Nov 2026 09:00:00 GMT"
  private static let later = "Sat, 21 Nov 2026 11:00:00 GMT"
  private static let now = HTTPDate(secondsSinceEpoch: 1_795_273_200)

  struct Case: Sendable, CustomTestStringConvertible {
    let fields: [(String, String)]
    let expected: ServingDecision
    var method = HTTPRequest.Method.get

    init(_ fields: [(String, String)], _ expected: ServingDecision, _ method: HTTPRequest.Method = .get) {
      (self.fields, self.expected, self.method) = (fields, expected, method)
    }

    var testDescription: String { "\(method) \(fields) is \(expected)" }
  }

  static let conditions: [Case] = [
    Case([], .whole),
    Case([("If-None-Match", "\"a\"")], .notModified),
    Case([("If-None-Match", "W/\"a\"")], .notModified),
    Case([("If-None-Match", "\"b\", W/\"a\"")], .notModified),
    Case([("If-None-Match", "\"b\""), ("If-None-Match", "\"a\"")], .notModified),
    Case([("If-None-Match", "*")], .notModified),
    Case([("If-None-Match", "\"a,\"")], .whole),
    Case([("If-None-Match", "a")], .whole),
    Case([("If-None-Match", "\"b\""), ("If-Modified-Since", modified)], .whole),
    Case([("If-None-Match", "\"a\""), ("If-Modified-Since", earlier)], .notModified),
    Case([("If-None-Match", "\"a\"")], .notModified, .head),
    Case([("If-Modified-Since", modified)], .notModified),
    Case([("If-Modified-Since", "Saturday, 21-Nov-26 10:00:00 GMT")], .notModified),
    Case([("If-Modified-Since", earlier)], .whole),
    Case([("If-Modified-Since", later)], .whole),
    Case([("If-Modified-Since", "yesterday")], .whole),
    Case([("If-Modified-Since", modified), ("If-Modified-Since", modified)], .whole),
    Case([("If-Match", "\"a\"")], .whole),
    Case([("If-Match", "*")], .whole),
    Case([("If-Match", "W/\"a\"")], .preconditionFailed),
    Case([("If-Match", "\"b\"")], .preconditionFailed),
    Case([("If-Match", "\"b\""), ("If-None-Match", "\"a\"")], .preconditionFailed),
    Case([("If-Match", "\"a\""), ("If-None-Match", "\"a\"")], .notModified),
    Case([("If-Match", "\"a\""), ("If-Unmodified-Since", earlier)], .whole),
    Case([("If-Unmodified-Since", earlier)], .preconditionFailed),
    Case([("If-Unmodified-Since", modified)], .whole),
    Case([("If-Unmodified-Since", later)], .whole),
    Case([("If-Unmodified-Since", "never")], .whole),
  ]

  static let ranges: [Case] = [
    Case([("Range", "bytes=0-9")], .part(0..<10)),
    Case([("Range", "bytes=90-")], .part(90..<100)),
    Case([("Range", "bytes=90-1000")], .part(90..<100)),
    Case([("Range", "bytes=-10")], .part(90..<100)),
    Case([("Range", "bytes=-1000")], .part(0..<100)),
    Case([("Range", "bytes=100-")], .rangeNotSatisfiable),
    Case([("Range", "bytes=-0")], .rangeNotSatisfiable),
    Case([("Range", "bytes=9-0")], .whole),
    Case([("Range", "bytes=0-1,4-5")], .whole),
    Case([("Range", "lines=0-1")], .whole),
    Case([("Range", "bytes=0-9")], .whole, .head),
    Case([("Range", "bytes=0-9"), ("If-None-Match", "\"a\"")], .notModified),
    Case([("Range", "bytes=0-9"), ("If-Match", "\"b\"")], .preconditionFailed),
    Case([("Range", "bytes=0-9"), ("If-Range", "\"a\"")], .part(0..<10)),
    Case([("Range", "bytes=0-9"), ("If-Range", "W/\"a\"")], .whole),
    Case([("Range", "bytes=0-9"), ("If-Range", "\"b\"")], .whole),
    Case([("Range", "bytes=100-"), ("If-Range", "\"b\"")], .whole),
    Case([("Range", "bytes=0-9"), ("If-Range", modified)], .part(0..<10)),
    Case([("Range", "bytes=0-9"), ("If-Range", later)], .whole),
    Case([("If-Range", "\"a\"")], .whole),
  ]

  @Test("conditions and ranges decide the answer", arguments: conditions + ranges)
  func conditionsAndRanges(_ test: Case) throws {
    #expect(try decision(test, modified: Self.modified) == test.expected)
  }

  @Test("without a date no date condition holds")
  func noDate() throws {
    #expect(try decision(Case([("If-Modified-Since", Self.modified)], .whole), modified: nil) == .whole)
    #expect(try decision(Case([("If-Unmodified-Since", Self.earlier)], .whole), modified: nil) == .whole)
    let part = Case([("Range", "bytes=0-9"), ("If-Range", Self.modified)], .whole)
    #expect(try decision(part, modified: nil) == .whole)
  }

  private func decision(_ test: Case, modified: String?) throws -> ServingDecision {
    var fields = HTTPFields()
    for (name, value) in test.fields { fields.append(HTTPField(name: try #require(.init(name)), value: value)) }
    return ServingDecision(
      fields, method: test.method, etag: "\"a\"", modified: modified.flatMap { HTTPDate($0, now: Self.now) }, size: 100,
      now: Self.now)
  }
}
