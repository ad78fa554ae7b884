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
