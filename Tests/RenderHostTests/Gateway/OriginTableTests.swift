import HTTPTransport
import Testing

@testable import CacheGateway
@testable import RenderHost

struct OriginTableTests {
  private static func origin(_ name: String, hosts: [String] = [], prefixes: [String] = []) throws -> OriginSettings {
    var origin = OriginSettings(name: name, url: try #require(PageURL("http://\(name).internal/")))
    (origin.hosts, origin.prefixes) = (hosts, prefixes)
    return origin
  }

  private static func name(_ choice: OriginTable.Choice, _ origins: [OriginSettings]) -> String {
    switch choice {
    case .origin(let index): origins[index].name
    case .unknownHost: "unknown host"
    case .unknownPath: "unknown path"
    }
  }

  @Test(
    "the closest host decides, and then the longest prefix",
    arguments: [
      ("api.example.com", "/", "api"), ("API.example.com:8443", "/x", "api"), ("a.shop.example", "/", "shop"),
      ("a.eu.shop.example", "/", "eu"), ("shop.example", "/", "paths"), ("[::1]:80", "/", "paths"),
      ("api.example.com", "/v2", "next"), ("api.example.com", "/v2/list", "next"), ("api.example.com", "/v2?a", "next"),
      ("api.example.com", "/v20", "api"), ("api.example.com", "/v2/../v1", "api"),
      ("api.example.com", "/v1/../v2/a", "next"), ("other.example", "/v2", "paths"),
      ("only.example", "/deep/er", "only"), ("only.example", "/else", "paths"),
    ])
  func closestOrigin(_ host: String, _ path: String, _ expected: String) throws {
    let origins = [
      try Self.origin("api", hosts: ["api.example.com"]),
      try Self.origin("next", hosts: ["api.example.com"], prefixes: ["/v2"]),
      try Self.origin("shop", hosts: ["*.shop.example"]), try Self.origin("eu", hosts: ["*.eu.shop.example"]),
      try Self.origin("only", hosts: ["only.example"], prefixes: ["/deep/"]), try Self.origin("paths"),
    ]
    let choice = OriginTable(origins).choice(authority: host, path: path)
    #expect(Self.name(choice, origins) == expected)
  }

  @Test(
    "a host or path without an origin is an error",
    arguments: [
      ("a.example", "/x", "unknown path"), ("b.example", "/v1/x", "unknown host"), ("a.example", "/v1/", "a"),
      ("A.example.:80", "/v1/x", "a"),
    ])
  func noOrigin(_ host: String, _ path: String, _ expected: String) throws {
    let origins = [try Self.origin("a", hosts: ["a.example"], prefixes: ["/v1/"])]
    #expect(Self.name(OriginTable(origins).choice(authority: host, path: path), origins) == expected)
    #expect(Self.name(OriginTable(origins).choice(authority: nil, path: path), origins) == "unknown host")
  }

  @Test("two origins with the same host and prefix are named")
  func conflictingOrigins() throws {
    let first = try Self.origin("a", hosts: ["a.example", "b.example"])
    let conflict = OriginTable.conflict(in: [first, try Self.origin("b", hosts: ["b.example"])])
    #expect(conflict?.0 == "a" && conflict?.1 == "b")
    #expect(OriginTable.conflict(in: [first, try Self.origin("b", hosts: ["b.example"], prefixes: ["/v1"])]) == nil)
  }
}
