import HTTPTypes
import Testing

@testable import Bundles
@testable import HTTPTransport

struct RangeDecisionTests {
  private static func held(_ bytes: Int64 = 100, etag: String? = "\"v1\"", encoding: String? = nil) throws -> (
    head: DownloadHead, wireBytes: Int64
  ) {
    let url = try #require(PageURL("http://h/a"))
    return (DownloadHead(url: url, etag: etag, lastModified: "yesterday", encoding: encoding, wireSize: 300), bytes)
  }

  private static func response(_ status: Int, _ fields: HTTPFields = [:]) -> HTTPResponse {
    HTTPResponse(status: .init(code: status), headerFields: fields)
  }

  @Test func aWholeAnswerStartsOver() throws {
    #expect(RangeDecision(for: Self.response(200), held: try Self.held()) == .startOver)
    #expect(RangeDecision(for: Self.response(200), held: nil) == .startOver)
  }

  @Test("the requested part is appended")
  func requestedPart() throws {
    let answer = Self.response(206, [.contentRange: "bytes 100-299/300", .eTag: "\"v1\""])
    #expect(RangeDecision(for: answer, held: try Self.held()) == .append)
  }

  @Test(
    "for any other part the whole content is requested",
    arguments: [
      [.contentRange: "bytes 0-299/300"], [.contentRange: "bytes 101-299/300"], [.contentRange: "bytes 100-299/400"],
      [.contentRange: "bytes 100-200/300"], [.contentRange: "bytes 100-299/300", .eTag: "\"v2\""],
      [.contentRange: "bytes 100-299/300", .contentEncoding: "gzip"], [.contentRange: "nonsense"], [:],
    ] as [HTTPFields])
  func otherParts(_ fields: HTTPFields) throws {
    #expect(RangeDecision(for: Self.response(206, fields), held: try Self.held()) == .askForWhole)
  }

  @Test("a part, or a 304, that was not requested answers another request")
  func unrequestedAnswer() throws {
    #expect(RangeDecision(for: Self.response(206, [.contentRange: "bytes 0-9/10"]), held: nil) == .notAskedFor)
    #expect(RangeDecision(for: Self.response(206), held: nil) == .notAskedFor)
    #expect(RangeDecision(for: Self.response(304), held: nil) == .notAskedFor)
    #expect(RangeDecision(for: Self.response(304), held: try Self.held()) == .askForWhole)
  }

  @Test("a 416 means that the held part is useless")
  func unsatisfiableRange() throws {
    #expect(RangeDecision(for: Self.response(416), held: try Self.held()) == .askForWhole)
    #expect(RangeDecision(for: Self.response(416), held: nil) == .fail)
  }

  @Test("only a strong ETag or a date is sent in If-Range")
  func ifRange() throws {
    #expect(RangeDecision.fields(after: try Self.held()) == [.range: "bytes=100-", .ifRange: "\"v1\""])
    #expect(RangeDecision.fields(after: try Self.held(etag: "W/\"v1\""))[.ifRange] == "yesterday")
  }
}
