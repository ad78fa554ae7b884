import HTTPTransport
import HTTPTypes
import PageKit
import Testing

@testable import CacheGateway
@testable import RenderHost

struct GatewayErrorTests {
  private static let url = "http://10.0.0.7:8000/a?token=secret"

  @Test(
    "an error tells the reason and no internal address",
    arguments: [
      (TransportError.timedOut(url: url, after: .seconds(1)), 504, "in time"),
      (TransportError.tooSlow(url: url, bytesPerSecond: 1, over: .seconds(1)), 504, "in time"),
      (TransportError.cannotConnect(url: url, reason: "10.0.0.7 refuses"), 502, "reached"),
      (TransportError.insecure(url: url, reason: "10.0.0.7"), 502, "reached"),
      (TransportError.closedEarly(url: url, received: 0, reason: "10.0.0.7"), 502, "end of its answer"),
      (TransportError.malformed(url: url, reason: "10.0.0.7"), 502, "HTTP"),
      (TransportError.tooLarge(url: url, limit: 1), 502, "exceeds"),
      (TransportError.failed(url: url, code: 1, reason: "10.0.0.7"), 502, "not answered"),
    ] as [(TransportError, Int, String)])
  func errorContents(_ error: TransportError, _ status: Int, _ word: String) {
    let fault = GatewayError(error, origin: "api", url: Self.url)
    #expect(fault.status.code == status && fault.reason.contains(word) && fault.reason.contains("api"))
    #expect(!fault.reason.contains("10.0.0.7"))
    // The text for the operator has the URL without its query.
    #expect(fault.detail.contains("http://10.0.0.7:8000/a") && !fault.detail.contains("secret"))
  }
}
