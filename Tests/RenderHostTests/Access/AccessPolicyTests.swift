import PageKit
import Testing

@testable import RenderHost
@testable import ServerKit

@Suite struct AccessPolicyTests {
  @Test(
    "only named origins are fetched",
    arguments: [
      ("https://api.example.com/list", true), ("https://API.example.com:443/list", true),
      ("https://api.example.com./list", true), ("http://api.example.com/list", false),
      ("https://api.example.com:8443/list", false), ("https://api.example.com.evil.com/", false),
      ("https://evil.com/api.example.com", false), ("https://evil.com/?https://api.example.com/", false),
      ("http://127.0.0.1:9000/a", true), ("http://127.1:9000/a", true), ("http://2130706433:9000/a", true),
      ("http://0x7f000001:9000/a", true), ("http://017700000001:9000/a", true), ("http://127.0.0.1:9001/a", false),
      ("http://[::1]:9000/a", true), ("http://[0:0:0:0:0:0:0:1]:9000/a", true),
      ("http://[::ffff:127.0.0.1]:9000/", false),
      ("http://localhost:9000/a", false), ("https://pages.example.com/manifest.json", true),
    ])
  func namedOrigins(_ url: String, isAllowed: Bool) throws {
    let policy = try AccessPolicy(
      allowed: ["https://api.example.com", "http://127.0.0.1:9000", "http://[::1]:9000"],
      manifest: PageURL("https://pages.example.com/manifest.json"))
    let url = try #require(PageURL(url))
    #expect((policy.refusal(of: url) == nil) == isAllowed)
  }

  @Test(
    "ambiguous URLs are refused",
    arguments: ["https://api.example.com@evil.com/", "https://user:pass@api.example.com/", "https:///etc/passwd"])
  func ambiguousURLs(_ url: String) { #expect(PageURL(url) == nil) }

  @Test(
    "addresses are classified",
    arguments: [
      ("93.184.216.34", AddressKind.global), ("127.0.0.1", .loopback), ("127.255.1.2", .loopback),
      ("10.1.2.3", .privateUse), ("172.16.0.1", .privateUse), ("172.31.255.255", .privateUse), ("172.32.0.1", .global),
      ("192.168.1.1", .privateUse), ("169.254.169.254", .linkLocal), ("100.64.0.1", .sharedSpace),
      ("100.128.0.1", .global), ("224.0.0.1", .multicast), ("255.255.255.255", .reserved), ("0.0.0.0", .unspecified),
      ("198.18.0.1", .reserved), ("2606:2800:220:1::1", .global), ("::1", .loopback), ("::", .unspecified),
      ("::ffff:127.0.0.1", .loopback), ("::ffff:10.0.0.1", .privateUse), ("::ffff:93.184.216.34", .global),
      ("64:ff9b::7f00:1", .loopback), ("64:ff9b::a00:1", .privateUse), ("64:ff9b:1::1", .reserved),
      ("2002:7f00:1::", .loopback), ("2002:a00:1::1", .privateUse), ("2001::1", .reserved), ("2001:db8::1", .reserved),
      ("fe80::1", .linkLocal), ("fe80::1%eth0", .linkLocal), ("fd00::1", .privateUse), ("fec0::1", .privateUse),
      ("ff02::1", .multicast), ("::7f00:1", .reserved),
    ])
  func addresses(_ text: String, _ kind: AddressKind) throws {
    let address = try #require(HostAddress(text))
    #expect(AddressKind(address) == kind)
  }

  @Test(
    "an address that is not public must be named",
    arguments: [
      ("api.example.com", "93.184.216.34", 443, true),
      // A name that resolves to loopback.
      ("api.example.com", "127.0.0.1", 443, false), ("api.example.com", "127.0.0.1", 9000, false),
      ("api.example.com", "::1", 443, false), ("api.example.com", "169.254.169.254", 80, false),
      ("127.0.0.1", "127.0.0.1", 9000, true), ("2130706433", "127.0.0.1", 9000, true),
      ("127.0.0.1", "127.0.0.1", 9001, false), ("127.0.0.1", "127.0.0.2", 9000, false),
      ("localhost", "127.0.0.1", 7000, true), ("localhost", "::1", 7000, true), ("localhost", "10.0.0.1", 7000, false),
      ("localhost", "127.0.0.1", 7001, false), ("intranet.example.com", "10.1.2.3", 80, true),
      ("intranet.example.com", "10.2.2.3", 80, false), ("api.example.com", "not an address", 80, false),
      // An origin that only the manifest names.
      ("192.168.7.7", "192.168.7.7", 80, false),
    ])
  func privateAddresses(_ host: String, _ address: String, _ port: Int, isAllowed: Bool) throws {
    var policy = try AccessPolicy(
      allowed: ["https://api.example.com", "http://127.0.0.1:9000", "http://localhost:7000", "10.1.0.0/16"])
    policy.add([try #require(PageURL("http://192.168.7.7/a.js"))])
    #expect((policy.refusal(host: host, address: address, port: port) == nil) == isAllowed)
  }

  @Test("only files of the folder are read")
  func folderFiles() throws {
    let policy = try AccessPolicy(allowed: [], folders: ["/srv/pages"])
    func isRead(_ text: String) -> Bool { PageURL(text).map { policy.refusal(of: $0) == nil } ?? false }
    #expect(isRead("file:///srv/pages/home.js"))
    #expect(!isRead("file:///srv/pages/../passwd"))
    #expect(!isRead("file:///srv/pages-other/home.js"))
    #expect(!isRead("file:///etc/passwd"))
  }

  @Test("the origins of the current release are permitted")
  func releaseOrigins() throws {
    let access = AccessGuard(try AccessPolicy(allowed: ["https://told.example"]))
    func bundle(_ url: String, _ prefetch: [String]) throws -> PageBundle {
      PageBundle(
        kind: .bundle, name: "a", url: try #require(PageURL(url)), size: nil, md5: try ContentDigests(of: []).md5,
        prefetch: prefetch)
    }
    access.follow([try bundle("https://one.example/a.js", ["https://api.example/list", "/own"])])
    func isFetched(_ text: String) -> Bool { PageURL(text).map { access.policy.refusal(of: $0) == nil } ?? false }
    #expect(["https://told.example/", "https://one.example/x", "https://api.example/"].allSatisfy(isFetched))
    access.follow([try bundle("https://two.example/a.js", [])])
    #expect(["https://told.example/", "https://two.example/x"].allSatisfy(isFetched))
    #expect(!isFetched("https://one.example/x") && !isFetched("https://api.example/"))
  }

  @Test("the error names a text that is not an origin")
  func invalidOrigins() {
    let error = #expect(throws: DescribedError.self) { try AccessPolicy(allowed: ["api.example.com"]) }
    #expect(error?.description.hasPrefix("\"api.example.com\" is neither an origin") == true)
  }

  @Test("a refusal names its rule")
  func refusalRule() throws {
    let policy = try AccessPolicy(allowed: [])
    let url = try #require(PageURL("http://evil.example/"))
    let refusal = try #require(policy.refusal(of: url))
    #expect(refusal.name == "origin")
    #expect("\(refusal)".contains("http://evil.example") && "\(refusal)".contains("--allow-origin"))
  }
}
