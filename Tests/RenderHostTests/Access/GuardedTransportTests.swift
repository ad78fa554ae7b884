import HTTPTypes
import PageKit
import PageTesting
import Testing

@testable import RenderHost

@Suite struct GuardedTransportTests {
  private func send(_ url: String, _ allowed: [String], environment: Bool = false) async throws -> Int {
    let access = AccessGuard(try AccessPolicy(allowed: allowed))
    let transport = try access.transport()
    let page = try #require(PageURL(url))
    let request = try #require(HTTPRequest(url: page))
    return try await transport.send(TransportRequest(request)).head.status.code
  }

  @Test("a named address is connected to")
  func namedAddress() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", Array("a".utf8))
      let status = try await send(origin.url(for: "/a"), [origin.url(for: "")])
      #expect(status == 200)
    }
  }

  @Test("a name that resolves to a private address is refused before anything is sent")
  func rebinding() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", Array("a".utf8))
      // The C library resolves it: all names below localhost are loopback, RFC 6761 §6.3.
      let name = "http://localhost.localdomain:\(origin.port)"
      await #expect {
        _ = try await send("\(name)/a", [name])
      } throws: { error in
        switch error as? TransportError {
        case .notPermitted(_, let address, let reason): address.contains("1") && reason.contains("loopback")
        // For resolvers that do not know the name.
        case .cannotResolve: true
        default: false
        }
      }
      #expect(origin.requestCount(path: "/a") == 0)
    }
  }

  @Test("a reused connection is checked again")
  func reusedConnection() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", Array("a".utf8))
      let access = AccessGuard(try AccessPolicy(allowed: [origin.url(for: "")]))
      let transport = try access.transport()
      let url = try #require(PageURL(origin.url(for: "/a")))
      let request = TransportRequest(try #require(HTTPRequest(url: url)))
      let first = try await transport.send(request)
      _ = try await first.body.collect(upTo: 10)
      // The network is no longer named, but the manifest still names its origin.
      var policy = try AccessPolicy(allowed: [])
      policy.add([url])
      access.policy = policy
      await #expect(throws: TransportError.self) { _ = try await transport.send(request) }
      #expect(origin.requestCount(path: "/a") == 1)
    }
  }

  @Test("each redirect is checked against the policy")
  func redirectHops() async throws {
    try await FaultOrigin.running { origin in
      try await FaultOrigin.running { inner in
        inner.serve("/secret", Array("secret".utf8))
        origin.respond("/a") { _ in
          OriginResponse(status: .found, headers: [.location: inner.url(for: "/secret")])
        }
        let access = AccessGuard(try AccessPolicy(allowed: [origin.url(for: "")]))
        let cache = try ResponseCache(store: NoResponseStore())
        let loader = ResourceLoader(cache: cache, transport: try access.transport())
        await #expect(throws: AccessRefusal.self) {
          _ = try await loader.response(for: ResourceRequest(origin.url(for: "/a")))
        }
        #expect(inner.requestCount(path: "/secret") == 0)
      }
    }
  }
}
