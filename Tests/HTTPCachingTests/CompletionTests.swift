import HTTPTypes
import Testing

@testable import HTTPCaching

/// What an answer to the request for the rest of a stored part means.
struct CompletionTests {
  private static func decide(
    _ response: HTTPResponse, size: Int64? = 100, stored fields: HTTPFields = [.eTag: "\"v\""],
    control: String = "max-age=60"
  ) -> ResponseDecision {
    let part = Sample.stored(control, fields, extent: .part(0..<50, of: size))
    var sent = Sample.request()
    sent.headerFields[.range] = "bytes=50-"
    sent.headerFields[.ifRange] = "\"v\""
    return CachePolicy(mode: .private).decision(
      on: response, to: sent, for: Sample.request(), validating: part, at: Sample.time(61))
  }

  /// RFC 9111 §3.4, RFC 9110 §15.3.7.3.
  @Test(
    arguments: [
      ("bytes 50-99/100", "\"v\"", 100, true), ("bytes 50-99/100", "\"v\"", nil, true),
      ("bytes 50-99/*", "\"v\"", 100, true),
      // Another place, another size, or not all that is missing.
      ("bytes 49-99/100", "\"v\"", 100, false), ("bytes 51-99/100", "\"v\"", 100, false),
      ("bytes 50-98/100", "\"v\"", 100, false), ("bytes 50-100/101", "\"v\"", 100, false),
      ("bytes 50-98/*", "\"v\"", 100, false), ("bytes 50-99/*", "\"v\"", nil, false),
      ("bytes 50-199/*", "\"v\"", 100, false),
      // What cannot be read may not be put together with anything.
      ("bytes +50-99/100", "\"v\"", 100, false), ("bytes 50-99//100", "\"v\"", 100, false), (nil, "\"v\"", 100, false),
      // Another validator, a weak one, or none.
      ("bytes 50-99/100", "\"w\"", 100, false), ("bytes 50-99/100", "W/\"v\"", 100, false),
      ("bytes 50-99/100", nil, 100, false),
    ] as [(String?, String?, Int64?, Bool)])
  func onlyTheRestOfTheSameContentIsAppended(_ range: String?, _ tag: String?, _ size: Int64?, _ isAppended: Bool) {
    var fields: HTTPFields = [.contentLength: "50", .cacheControl: "max-age=7"]
    fields[.contentRange] = range
    fields[.eTag] = tag
    let decision = Self.decide(Sample.answer(206, fields), size: size)
    guard case .append(_, let updated, let total) = decision else {
      #expect(!isAppended && decision == .askAgain(Sample.request()))
      return
    }
    #expect(isAppended && total == 100)
    #expect(updated[.cacheControl] == "max-age=7" && updated[.contentRange] == nil && updated[.contentLength] == nil)
  }

  @Test func severalContentRangesAreNone() {
    var fields: HTTPFields = [.eTag: "\"v\"", .contentRange: "bytes 50-99/100"]
    fields.append(HTTPField(name: .contentRange, value: "bytes 50-99/100"))
    #expect(Self.decide(Sample.answer(206, fields)).summary == "askAgain")
  }

  @Test(
    arguments: [
      (nil, nil, true), ("gzip", nil, true), ("gzip", "gzip", true), ("gzip", "br", false), (nil, "br", false),
    ]
      as [(String?, String?, Bool)])
  func partsOfDifferentCodingsDoNotBelongTogether(_ old: String?, _ new: String?, _ isAppended: Bool) {
    var stored: HTTPFields = [.eTag: "\"v\""]
    stored[.contentEncoding] = old
    var fields: HTTPFields = [.eTag: "\"v\"", .contentRange: "bytes 50-99/100"]
    fields[.contentEncoding] = new
    #expect(Self.decide(Sample.answer(206, fields), stored: stored).summary == (isAppended ? "append" : "askAgain"))
  }

  @Test func whereTheRangeIsGoneTheWholeIsAskedFor() {
    #expect(Self.decide(Sample.answer(416, [.contentRange: "bytes */10"])) == .askAgain(Sample.request()))
  }

  @Test func aWholeAnswerReplacesThePart() {
    #expect(Self.decide(Sample.answer(200, [.eTag: "\"w\""])) == .use)
    #expect(Self.decide(Sample.answer(404)) == .use)
    #expect(Self.decide(Sample.answer(503), control: "max-age=60, stale-if-error=99") == .use)
  }

  @Test func aRangeThatTheClientWantsIsItsOwnAnswer() {
    let original = Sample.request([.range: "bytes=50-"])
    let stored = Sample.stored()
    for status in [206, 416] {
      let decision = CachePolicy(mode: .private).decision(
        on: Sample.answer(status, [.contentRange: "bytes 50-99/100"]), to: stored.validators.applied(to: original),
        for: original, validating: stored, at: Sample.time(61))
      #expect(decision == .use)
    }
  }
}
