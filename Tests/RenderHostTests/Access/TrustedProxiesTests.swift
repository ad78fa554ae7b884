import HTTPTypes
import Testing

@testable import ServerKit

struct TrustedProxiesTests {
  private static let proxies = TrustedProxies(
    ["10.0.0.0/8", "2001:db8::/32", "192.0.2.1"].compactMap { AddressRange($0) })

  @Test(
    "an address is a trusted proxy's if it is in a range",
    arguments: [
      ("10.1.2.3", true), ("::ffff:10.1.2.3", true), ("11.0.0.1", false), ("2001:db8::5", true), ("2001:db9::5", false),
      ("192.0.2.1", true), ("192.0.2.2", false), ("-", false), ("", false), ("64:ff9b::a00:1", false),
      ("2002:a00:1::", false),
    ])
  func members(_ address: String, _ isMember: Bool) {
    #expect(Self.proxies.contains(address) == isMember)
    #expect(!TrustedProxies().contains(address))
  }

  @Test(
    "the client is the last address that is not a trusted proxy's",
    arguments: [
      ("10.0.0.1", ["X-Forwarded-For: 198.51.100.7"], "198.51.100.7"),
      // Whatever a client puts before it.
      ("10.0.0.1", ["X-Forwarded-For: 1.1.1.1, 198.51.100.7, 10.0.0.2"], "198.51.100.7"),
      ("10.0.0.1", ["X-Forwarded-For: 1.1.1.1", "X-Forwarded-For: 198.51.100.7"], "198.51.100.7"),
      ("10.0.0.1", ["X-Forwarded-For: 10.0.0.3, 10.0.0.2"], "10.0.0.3"),
      ("10.0.0.1", ["X-Forwarded-For: 198.51.100.7, unknown, 10.0.0.2"], "10.0.0.2"),
      ("10.0.0.1", ["X-Forwarded-For: 198.51.100.7, "], "10.0.0.1"), ("10.0.0.1", ["X-Forwarded-For:"], "10.0.0.1"),
      ("10.0.0.1", ["X-Forwarded-For: 198.51.100.7:4711"], "198.51.100.7"),
      ("10.0.0.1", ["X-Forwarded-For: 2001:db9::1"], "2001:db9::1"),
      ("10.0.0.1", ["X-Forwarded-For: [2001:db9::1]:80"], "2001:db9::1"),
      ("10.0.0.1", [#"Forwarded: for="[2001:db9::1]:80";proto=https"#], "2001:db9::1"),
      ("10.0.0.1", ["Forwarded: For=1.1.1.1, proto=https; for=198.51.100.7 ;by=x"], "198.51.100.7"),
      ("10.0.0.1", ["Forwarded: for=198.51.100.7, proto=https"], "10.0.0.1"),
      ("10.0.0.1", ["Forwarded: for=_hidden"], "10.0.0.1"),
      ("10.0.0.1", ["X-Forwarded-For: 198.51.100.7", "Forwarded: for=1.1.1.1"], "198.51.100.7"),
      ("10.0.0.1", [], "10.0.0.1"),
      // Others name nobody.
      ("11.0.0.1", ["X-Forwarded-For: 198.51.100.7", "Forwarded: for=1.1.1.1"], "11.0.0.1"),
      ("-", ["X-Forwarded-For: 198.51.100.7"], "-"),
    ] as [(String, [String], String)])
  func client(_ peer: String, _ lines: [String], _ client: String) throws {
    var fields = HTTPFields()
    for line in lines {
      let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
      fields.append(
        HTTPField(name: try #require(HTTPField.Name(parts[0])), value: parts.count > 1 ? parts[1] : ""))
    }
    #expect(Self.proxies.client(of: fields, from: peer) == client)
  }
}
