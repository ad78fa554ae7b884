import HTTPTypes
import PageTesting
import Testing

@testable import CacheGateway
@testable import RenderHost

/// Clients that accept different codings share responses.
@Suite(.timeLimit(.minutes(2)))
struct CodingTests {
  /// An origin with these codings, which names the coding of each response. The gateway does not know them and so
  /// cannot decode their bodies.
  private static func serve(_ fixture: GatewayFixture, _ codings: [String], etags: Bool) {
    fixture.origin.respond("/a") { request in
      let accepted = (request.headers[.acceptEncoding] ?? "").components(separatedBy: ", ")
      let coding = codings.first { accepted.contains($0) }
      var fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept-Encoding"]
      fields[.contentEncoding] = coding
      if etags { fields[.eTag] = "\"\(coding ?? "none")\"" }
      if etags, request.headers[.ifNoneMatch] == fields[.eTag] {
        return OriginResponse(status: .notModified, headers: fields)
      }
      return OriginResponse(headers: fields, body: (coding ?? "none").utf8)
    }
  }

  private static func ask(_ fixture: GatewayFixture, _ accepted: String) async throws -> String {
    let answer = try await fixture.get("/a", accepted.isEmpty ? [] : ["Accept-Encoding: \(accepted)"])
    return "\(answer["content-encoding"] ?? "-") \(answer.body)"
  }

  @Test("a client that accepts fewer codings is answered from the cache")
  func fewerCodings() async throws {
    try await GatewayFixture.running { fixture in
      Self.serve(fixture, ["compress"], etags: false)
      for accepted in ["compress, deflate, exi, zstd", "compress, exi", "exi, compress;q=1.0", "compress"] {
        let answer = try await Self.ask(fixture, accepted)
        #expect(answer == "compress compress")
      }
      #expect(fixture.origin.requestCount(path: "/a") == 1)
      #expect(try await Self.ask(fixture, "") == "- none")
    }
  }

  /// RFC 9842: the response depends on the dictionary that the client has.
  @Test("differences are stored for each dictionary, and given to nobody without it")
  func dictionaries() async throws {
    try await GatewayFixture.running { fixture in
      fixture.origin.respond("/a") { request in
        let dictionary = HTTPField.Name("Available-Dictionary").flatMap { request.headers[$0] }
        let accepts = request.headers[.acceptEncoding]?.contains("dcz") == true
        var fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept-Encoding, Available-Dictionary"]
        guard let dictionary, accepts else { return OriginResponse(headers: fields, body: "whole".utf8) }
        fields[.contentEncoding] = "dcz"
        return OriginResponse(headers: fields, body: "from \(dictionary)".utf8)
      }
      for _ in 0..<2 {
        for (fields, expected) in [
          (["Accept-Encoding: dcz, br", "Available-Dictionary: :QQ==:"], "dcz from :QQ==:"),
          (["Accept-Encoding: dcz, br", "Available-Dictionary: :Qg==:"], "dcz from :Qg==:"),
          (["Accept-Encoding: dcz, br"], "- whole"), (["Accept-Encoding: br"], "- whole"), ([], "- whole"),
        ] {
          let answer = try await fixture.get("/a", fields)
          #expect("\(answer["content-encoding"] ?? "-") \(answer.body)" == expected)
        }
      }
      #expect(fixture.origin.requestCount(path: "/a") <= 5)
    }
  }

  @Test("a response without coding answers requests with any codings")
  func identityResponses() async throws {
    try await GatewayFixture.running { fixture in
      Self.serve(fixture, [], etags: false)
      for accepted in ["compress, exi", "compress", ""] {
        let answer = try await Self.ask(fixture, accepted)
        #expect(answer == "- none")
      }
      #expect(fixture.origin.requestCount(path: "/a") == 1)
    }
  }

  @Test("a client that accepts more codings causes a validation without a body")
  func moreCodings() async throws {
    try await GatewayFixture.running { fixture in
      Self.serve(fixture, ["compress"], etags: true)
      for accepted in [
        "compress", "compress, exi", "compress, exi", "compress", "compress, exi, zstd", "exi, compress",
      ] {
        let answer = try await Self.ask(fixture, accepted)
        #expect(answer == "compress compress", "\(accepted)")
      }
      #expect(fixture.origin.requests.map { $0.headers[.ifNoneMatch] } == [nil, "\"compress\"", "\"compress\""])
    }
  }

  @Test("a response in another coding is stored beside the first")
  func otherCodings() async throws {
    try await GatewayFixture.running { fixture in
      Self.serve(fixture, ["exi", "compress"], etags: true)
      for _ in 0..<2 {
        let answers = [
          try await Self.ask(fixture, "compress"), try await Self.ask(fixture, "compress, exi"),
          try await Self.ask(fixture, ""),
        ]
        #expect(answers == ["compress compress", "exi exi", "- none"])
      }
      #expect(fixture.origin.requestCount(path: "/a") == 3)
    }
  }

  @Test("only the codings that the origin uses are forwarded")
  func originCodings() async throws {
    try await GatewayFixture.running({ $0.gateway.origins[0].codings = ["compress"] }) { fixture in
      Self.serve(fixture, ["compress"], etags: false)
      for accepted in ["compress", "compress, exi", "zstd, compress"] {
        let answer = try await Self.ask(fixture, accepted)
        #expect(answer == "compress compress")
      }
      #expect(fixture.origin.requests.map { $0.headers[.acceptEncoding] } == ["compress"])
    }
  }
}
