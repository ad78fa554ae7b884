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

  private static func sent(
    _ fields: [String: String], _ forwarding: OriginSettings.Forwarding, isTrusted: Bool
  ) throws -> [String: String] {
    var found = HTTPFields()
    for (name, value) in fields { found[try #require(HTTPField.Name(name))] = value }
    ForwardedFields(client: "192.0.2.60", host: "b", isSecure: false, isTrusted: isTrusted)
      .add(forwarding, to: &found)
    return Dictionary(uniqueKeysWithValues: found.map { ($0.name.canonicalName, $0.value) })
  }

  @Test(
    "the client is appended to the fields of a trusted proxy",
    arguments: [
      (OriginSettings.Forwarding.none, nil, "1.2.3.4"), (.xForwarded, nil, "1.2.3.4, 192.0.2.60"),
      (.forwarded, "for=_a, for=192.0.2.60;host=b;proto=http", "1.2.3.4"),
      (.both, "for=_a, for=192.0.2.60;host=b;proto=http", "1.2.3.4, 192.0.2.60"),
    ] as [(OriginSettings.Forwarding, String?, String)])
  func configuredFields(
    _ forwarding: OriginSettings.Forwarding, _ forwarded: String?, _ xForwarded: String
  ) throws {
    let given = ["Forwarded": "for=_a", "X-Forwarded-For": "1.2.3.4", "X-Real-IP": "1.2.3.4", "X-Forwarded-Port": "8"]
    let fields = try Self.sent(given, forwarding, isTrusted: true)
    #expect(fields["forwarded"] == forwarded ?? "for=_a")
    #expect(fields["x-forwarded-for"] == xForwarded)
    #expect(fields["x-real-ip"] == "1.2.3.4" && fields["x-forwarded-port"] == "8")
  }

  @Test(
    "the fields of others are replaced",
    arguments: [
      (OriginSettings.Forwarding.none, [:]),
      (
        .xForwarded,
        [
          "x-forwarded-for": "192.0.2.60", "x-forwarded-host": "b", "x-forwarded-proto": "http",
          "x-real-ip": "192.0.2.60",
        ]
      ),
      (.forwarded, ["forwarded": "for=192.0.2.60;host=b;proto=http"]),
    ] as [(OriginSettings.Forwarding, [String: String])])
  func fieldsOfOthers(_ forwarding: OriginSettings.Forwarding, _ expected: [String: String]) throws {
    let given = [
      "Forwarded": "for=_a", "X-Forwarded-For": "1.2.3.4", "X-Real-IP": "1.2.3.4", "X-Forwarded-Port": "8",
      "X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil", "X-Forwarded-Prefix": "/evil",
    ]
    #expect(try Self.sent(given, forwarding, isTrusted: false) == expected)
  }

  @Test("a trusted proxy names the scheme, but never the host by which responses are looked up")
  func schemeAndHost() throws {
    let given = ["X-Forwarded-Proto": "HTTPS", "X-Forwarded-Host": "evil"]
    let fields = try Self.sent(given, .xForwarded, isTrusted: true)
    #expect(fields["x-forwarded-proto"] == "https" && fields["x-forwarded-host"] == "b")
    let name = try #require(HTTPField.Name("X-Forwarded-Proto"))
    for (isTrusted, proto, key) in [
      (true, "https", "https://b"), (true, "http", "b"), (true, "ftp", "b"), (false, "https", "b"),
    ] {
      let client = ForwardedFields(client: "192.0.2.60", host: "B", isSecure: false, isTrusted: isTrusted)
      #expect(client.keyHost(in: [name: proto]) == key)
    }
  }
}
