import HTTPTypes
import Testing

@testable import HTTPCaching

/// RFC 9111 §4.4.
struct InvalidationTests {
  private static func invalidates(_ method: HTTPRequest.Method, _ status: Int) -> Bool {
    CachePolicy(mode: .private).invalidates(method, Sample.answer(status))
      && CachePolicy(mode: .shared).invalidates(method, Sample.answer(status))
  }

  @Test(
    "a success or redirect to an unsafe method invalidates",
    arguments: [HTTPRequest.Method.post, .put, .delete, .patch, .connect])
  func unsafeMethods(_ method: HTTPRequest.Method) {
    for status in [200, 201, 204, 301, 303, 399] { #expect(Self.invalidates(method, status)) }
    for status in [100, 199, 400, 404, 500, 503] { #expect(!Self.invalidates(method, status)) }
  }

  @Test("an unknown method counts as unsafe")
  func unknownMethods() throws {
    for name in ["PURGE", "LOCK", "get"] {
      #expect(Self.invalidates(try #require(HTTPRequest.Method(rawValue: name)), 200))
    }
  }

  /// RFC 9110 §9.2.1.
  @Test("a safe method does not invalidate", arguments: [HTTPRequest.Method.get, .head, .options, .trace])
  func safeMethods(_ method: HTTPRequest.Method) {
    for status in [200, 204, 303, 404] { #expect(!Self.invalidates(method, status)) }
  }

  @Test("Location and Content-Location are returned")
  func references() {
    let policy = CachePolicy(mode: .private)
    #expect(
      policy.invalidatedReferences(Sample.answer(201, [.location: "/b", .contentLocation: "/c"])) == ["/b", "/c"])
    #expect(policy.invalidatedReferences(Sample.answer(204)).isEmpty)
  }
}

/// RFC 9110 §7.6.1.
struct HopByHopFieldTests {
  private static let name = HTTPField.Name("X-Hop")

  @Test(
    "fields of one connection are removed, and those that Connection lists",
    arguments: [
      ("close", true), ("keep-alive", true), ("X-Hop", false), ("close, x-hop", false), ("x-hop\t,close", false),
      ("x-hop2", true), ("", true), ("Cache-Control", true),
    ])
  func removal(_ connection: String, _ stays: Bool) throws {
    let name = try #require(Self.name)
    let fields: HTTPFields = [
      .connection: connection, name: "1", .cacheControl: "max-age=1", .transferEncoding: "chunked", .te: "trailers",
      .upgrade: "h2c", .date: "x",
    ]
    let kept = HopByHopFields.removed(from: fields)
    #expect(kept.contains(name) == stays)
    // A sender must not list Cache-Control.
    #expect(kept[.cacheControl] == "max-age=1" && kept[.date] == "x")
    for name in [HTTPField.Name.connection, .transferEncoding, .te, .upgrade] { #expect(!kept.contains(name)) }
  }

  @Test("fields that are named as exceptions stay")
  func exceptions() throws {
    let name = try #require(Self.name)
    let fields: HTTPFields = [.connection: "x-hop, x-other", name: "1"]
    #expect(HopByHopFields.removed(from: fields, except: [name])[name] == "1")
  }
}

/// RFC 9111 §4.1, §5.2.2.2.
struct SelectedResponseTests {
  @Test(
    "a stale response must be revalidated where a directive says so",
    arguments: [
      ("max-age=60", false, false), ("max-age=60, must-revalidate", true, true),
      ("max-age=60, proxy-revalidate", false, true), ("s-maxage=60", false, true), ("", false, false),
    ])
  func revalidation(_ control: String, _ privately: Bool, _ shared: Bool) {
    for (mode, expected) in [(CachePolicy.Mode.private, privately), (.shared, shared)] {
      let stored = Sample.stored(control, mode: mode)
      #expect(CachePolicy(mode: mode).mustBeRevalidated(stored) == expected, "\(mode)")
    }
  }

  @Test("the newest response whose Vary matches is selected, of any age")
  func selection() {
    let policy = CachePolicy(mode: .private)
    let french = VaryKey(values: ["accept-language": "fr"])
    let stored = [
      Sample.stored("no-cache", came: 0, id: 1, vary: french), Sample.stored("no-cache", came: 5, id: 2, vary: french),
      Sample.stored("no-cache", came: 9, id: 3, vary: VaryKey(values: ["accept-language": "de"])),
    ]
    func id(_ language: String) -> Int64? {
      policy.selectedResponse(for: Sample.request([.acceptLanguage: language]), among: stored)?.id
    }
    #expect(id("fr") == 2 && id("de") == 3 && id("en") == nil)
  }

  /// RFC 9111 §4.1, §4.3.4.
  @Test(
    "a confirmation keeps the key unless it does not answer the request or Vary names other fields",
    arguments: [
      ("Accept-Encoding", "gzip", "Accept-Encoding", "gzip, br", "br,gzip"),
      ("Accept-Encoding", "gzip, br", "Accept-Encoding", "gzip", "br,gzip"),
      ("Accept-Encoding", "gzip", "accept-encoding", "gzip", "gzip"),
      ("Accept-Encoding", "gzip", "*", "gzip, br", "gzip"),
      ("Accept-Encoding", "gzip, br", "Accept-Encoding, Accept-Language", "gzip", "gzip de"),
      ("", "gzip", "Accept-Language", "gzip", "de"), ("", "gzip", "", "br", ""),
      ("Accept-Language", "gzip", "", "br", ""),
    ])
  func confirmedKeys(_ before: String, _ stored: String, _ vary: String, _ asked: String, _ expected: String) throws {
    func request(_ codings: String) -> HTTPFields { [.acceptEncoding: codings, .acceptLanguage: "de"] }
    let key = try #require(VaryKey(vary: [.vary: before], request: request(stored)))
    let confirmed = Sample.stored("max-age=60", [.eTag: "\"v\"", .contentEncoding: "gzip"], vary: key)
      .varyKey(confirmedBy: [.vary: vary], for: request(asked))
    #expect(confirmed.values.sorted { $0.key < $1.key }.compactMap(\.value).joined(separator: " ") == expected)
  }
}
