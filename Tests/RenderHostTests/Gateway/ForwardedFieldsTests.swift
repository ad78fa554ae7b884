import HTTPTypes
import Testing

@testable import CacheGateway
@testable import RenderHost

struct ForwardedFieldsTests {
  @Test(
    "an element of Forwarded follows RFC 7239",
    arguments: [
      ("192.0.2.60", "api.example.com", false, "for=192.0.2.60;host=api.example.com;proto=http"),
      ("2001:db8::1", "api.example.com:81", true, #"for="[2001:db8::1]";host="api.example.com:81";proto=https"#),
      (nil, nil, true, "for=unknown;proto=https"),
      ("192.0.2.60", #"a"b\"#, false, #"for=192.0.2.60;host="a\"b\\";proto=http"#),
    ])
  func forwardedElement(_ client: String?, _ host: String?, _ isSecure: Bool, _ expected: String) {
    #expect(ForwardedFields(client: client, host: host, isSecure: isSecure).element == expected)
  }

  @Test(
    "the client is appended to the configured fields",
    arguments: [
      (OriginSettings.Forwarding.none, nil, "1.2.3.4"), (.xForwarded, nil, "1.2.3.4, 192.0.2.60"),
      (.forwarded, "for=_a, for=192.0.2.60;host=b;proto=http", "1.2.3.4"),
      (.both, "for=_a, for=192.0.2.60;host=b;proto=http", "1.2.3.4, 192.0.2.60"),
    ] as [(OriginSettings.Forwarding, String?, String)])
  func configuredFields(
    _ forwarding: OriginSettings.Forwarding, _ forwarded: String?, _ xForwarded: String
  ) throws {
    let names = try (#require(HTTPField.Name("Forwarded")), #require(HTTPField.Name("X-Forwarded-For")))
    var fields: HTTPFields = [names.0: "for=_a", names.1: "1.2.3.4"]
    ForwardedFields(client: "192.0.2.60", host: "b", isSecure: false).add(forwarding, to: &fields)
    #expect(fields[names.0] == forwarded ?? "for=_a")
    #expect(fields[names.1] == xForwarded)
  }
}
