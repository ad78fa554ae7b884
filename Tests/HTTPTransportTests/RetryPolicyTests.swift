import HTTPCaching
import HTTPTypes
import Testing

@testable import HTTPTransport

struct RetryPolicyTests {
  private static let policy = RetryPolicy(
    attempts: 3, firstDelay: .seconds(1), longestDelay: .seconds(3), longestRetryAfter: .seconds(60))
  private static let reset = TransportError.closedEarly(url: "u", received: 0, reason: "")

  private static func status(_ code: Int, retryAfter: String? = nil) throws -> HTTPFault {
    var response = HTTPResponse(status: .init(code: code))
    response.headerFields[.retryAfter] = retryAfter
    return HTTPFault(
      response, url: try #require(PageURL("http://h/")), now: HTTPDate(secondsSinceEpoch: 784_111_777))
  }

  @Test func waitsDoubleUpToTheLongest() {
    let policy = RetryPolicy(attempts: 9, firstDelay: .seconds(1), longestDelay: .seconds(3))
    let waits = (1...4).map { policy.delay(after: Self.reset, tried: $0, jitter: 1) }
    #expect(
      waits == [
        .seconds(1), .seconds(2), .seconds(3), .seconds(3),
      ])
  }

  @Test func jitterShortensAWaitByAtMostHalf() {
    #expect(Self.policy.delay(after: Self.reset, tried: 1, jitter: 0) == .milliseconds(500))
  }

  @Test("there is no attempt after the last one")
  func lastAttempt() {
    #expect(Self.policy.delay(after: Self.reset, tried: 3, jitter: 1) == nil)
  }

  @Test("transient statuses are retried", arguments: [408, 425, 429, 500, 502, 503, 504])
  func transientStatuses(_ code: Int) throws {
    #expect(Self.policy.delay(after: try Self.status(code), tried: 1, jitter: 1) == .seconds(1))
  }

  @Test("lasting statuses are not retried", arguments: [400, 401, 403, 404, 410, 416, 501])
  func lastingStatuses(_ code: Int) throws {
    #expect(Self.policy.delay(after: try Self.status(code), tried: 1, jitter: 1) == nil)
  }

  @Test("the server's Retry-After is respected")
  func retryAfter() throws {
    #expect(
      Self.policy.delay(after: try Self.status(503, retryAfter: " 7"), tried: 1, jitter: 0)
        == .seconds(7))
    let date = try Self.status(429, retryAfter: "Sun, 06 Nov 1994 08:49:42 GMT")
    #expect(Self.policy.delay(after: date, tried: 1, jitter: 0) == .seconds(5))
    let past = try Self.status(429, retryAfter: "Sun, 06 Nov 1994 08:00:00 GMT")
    #expect(Self.policy.delay(after: past, tried: 1, jitter: 0) == .zero)
  }

  @Test("a Retry-After over the limit ends the attempts")
  func longRetryAfter() throws {
    #expect(Self.policy.delay(after: try Self.status(503, retryAfter: "3600"), tried: 1, jitter: 0) == nil)
    #expect(
      Self.policy.delay(after: try Self.status(503, retryAfter: "99999999999999999999"), tried: 1, jitter: 0)
        == nil)
  }

  @Test(
    "no Retry-After is longer than 2³¹ seconds",
    arguments: ["9223372036854775807", "99999999999999999999", "2147483648", "Fri, 31 Dec 9999 23:59:59 GMT"])
  func longestRetryAfter(_ text: String) throws {
    for now in [Int64.min, 0, .max] {
      let delay = try #require(Duration(retryAfter: text, now: HTTPDate(secondsSinceEpoch: now)))
      #expect((.zero ... .seconds(1 << 31)).contains(delay))
    }
  }

  @Test("milliseconds of any duration are a number", arguments: [Int64.max, .min, 9_223_372_036_854_775])
  func milliseconds(_ seconds: Int64) {
    let found = Duration.seconds(seconds).milliseconds
    #expect(found == (seconds == .max ? .max : seconds == .min ? .min : Int(seconds) * 1000))
  }
}
