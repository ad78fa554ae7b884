import HTTPCaching
import HTTPTypes
import Testing

/// RFC 9110 §8.8, RFC 9111 §4.3.4.
struct ValidatorsTests {
  private static let date = "Sun, 06 Nov 1994 08:00:00 GMT"
  private static let later = "Sun, 06 Nov 1994 08:00:01 GMT"

  struct Row: Sendable {
    let stored: Validators
    let new: Validators
    let contradict: Bool

    init(_ stored: Validators, _ new: Validators, _ contradict: Bool) {
      (self.stored, self.new, self.contradict) = (stored, new, contradict)
    }
  }

  @Test(
    "validators of other content contradict the stored ones",
    arguments: [
      Row(Validators(etag: "\"a\""), Validators(etag: "\"a\""), false),
      Row(Validators(etag: "\"a\""), Validators(etag: "\"b\""), true),
      Row(Validators(etag: "\"a\""), Validators(etag: "W/\"a\""), false),
      Row(Validators(etag: "W/\"a\""), Validators(etag: "\"a\""), true),
      Row(Validators(etag: "W/\"a\""), Validators(etag: "W/\"b\""), true),
      // ETags decide before dates do.
      Row(Validators(etag: "\"a\"", lastModified: date), Validators(etag: "\"a\"", lastModified: later), false),
      Row(Validators(lastModified: date), Validators(lastModified: date), false),
      // A server that was rolled back sends an earlier date.
      Row(Validators(lastModified: later), Validators(lastModified: date), true),
      Row(Validators(lastModified: date), Validators(etag: "\"a\""), true),
      Row(Validators(lastModified: date), Validators(etag: "W/\"a\""), false),
      Row(Validators(etag: "\"a\"", lastModified: date), Validators(), false),
      Row(Validators(), Validators(), false),
    ])
  func contradicting(_ row: Row) {
    #expect(row.stored.contradict(row.new) == row.contradict, "\(row)")
  }

  @Test(
    "a strong ETag is quoted and has no W/",
    arguments: [("\"a\"", "\"a\""), ("\"\"", "\"\""), ("W/\"a\"", nil), ("a", nil), ("\"", nil), ("", nil)])
  func strong(_ etag: String, _ strong: String?) {
    #expect(Validators(etag: etag).strongETag == strong)
  }

  @Test("the conditions of a request are replaced by those of the stored response")
  func conditions() {
    let request = Sample.request([.ifNoneMatch: "\"mine\"", .ifModifiedSince: Self.later, .accept: "*/*"])
    let fields = Validators(etag: "\"a\"").applied(to: request).headerFields
    #expect(fields == [.accept: "*/*", .ifNoneMatch: "\"a\""])
    #expect(Validators().isEmpty && !Validators(lastModified: Self.date).isEmpty)
  }
}

/// RFC 9110 §13.2.2, §15.4.5.
struct NewNotModifiedTests {
  @Test(
    "a new 200 becomes a 304 for a client that has it",
    arguments: [
      ("\"v\"", true), ("W/\"v\"", true), ("\"a\", \"v\"", true), ("*", true), ("\"w\"", false), ("v", false),
    ])
  func matching(_ condition: String, _ isNotModified: Bool) {
    let response = Sample.answer(200, [.eTag: "\"v\"", .contentType: "text/plain", .cacheControl: "max-age=60"])
    let made = response.notModified(for: [.ifNoneMatch: condition])
    #expect(made?.status.code == (isNotModified ? 304 : nil))
    #expect(made.map { $0.headerFields == [.eTag: "\"v\"", .cacheControl: "max-age=60"] } ?? true)
  }

  @Test("without a condition, an ETag or the status 200, a response stays as it is")
  func others() {
    #expect(Sample.answer(200, [.eTag: "\"v\""]).notModified(for: [:]) == nil)
    #expect(Sample.answer(200).notModified(for: [.ifNoneMatch: "*"]) == nil)
    #expect(Sample.answer(404, [.eTag: "\"v\""]).notModified(for: [.ifNoneMatch: "\"v\""]) == nil)
  }
}
