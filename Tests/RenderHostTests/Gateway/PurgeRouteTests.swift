import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging
import PageTesting
import Testing

@testable import CacheGateway
@testable import RenderHost
@testable import ServerKit

struct PurgeRouteTests {
  private static let path = "/admin/gateway/purge"

  private func purge(
    _ body: String, token: String? = "secret", hasGateway: Bool = true, failing failure: (any Error)? = nil
  ) async throws -> (status: Int, text: String, orders: [PurgeOrder]) {
    let orders = Monitor<[PurgeOrder]>([])
    var controls = HostControls.fake()
    if hasGateway {
      controls.purge = { order in
        if let failure { throw failure }
        orders.change { $0.append(order) }
        return PurgeAnswer(purged: 7)
      }
    }
    var settings = Settings()
    settings.adminTokens = ["secret"]
    let metrics = HostMetrics()
    let server = HostServer(
      settings: settings, controls: controls, metrics: metrics,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let application = Application(router: try server.router(), logger: server.logger)
    return try await application.serve { client in
      let headers: HTTPFields = token.map { [.authorization: "Bearer \($0)"] } ?? [:]
      let answer = try await client.execute(uri: Self.path, method: .post, headers: headers, body: body)
      return (answer.status.code, answer.text, orders.read { $0 })
    }
  }

  @Test(
    "a purge returns the number of responses",
    arguments: [
      (#"{"url": "/a?b"}"#, PurgeOrder(.url("/a?b"))),
      (#"{"prefix": "/a", "soft": true}"#, PurgeOrder(.prefix("/a"), isSoft: true)),
      (#"{"tag": " a ", "soft": false}"#, PurgeOrder(.tags(["a"]))),
      (#"{"tags": ["a", "b", "a"]}"#, PurgeOrder(.tags(["a", "b"]))),
      (#"{"all": true}"#, PurgeOrder(.all)),
    ])
  func purgeOrders(_ body: String, _ order: PurgeOrder) async throws {
    let answer = try await purge(body)
    #expect((answer.status, answer.text, answer.orders) == (200, #"{"purged":7}"#, [order]))
  }

  @Test(
    "an order travels to other hosts as they read it",
    arguments: [
      (#"{"url": "/a?b", "wait": 1}"#, #"{"url":"/a?b"}"#),
      (#"{"prefix": "/a/", "soft": true, "local": true}"#, #"{"prefix":"/a/","soft":true}"#),
      (#"{"tag": " a ", "soft": false}"#, #"{"tags":["a"]}"#), (#"{"tags": ["b", "a"]}"#, #"{"tags":["a","b"]}"#),
      (#"{"all": true}"#, #"{"all":true}"#),
    ])
  func travellingOrders(_ body: String, _ sent: String) throws {
    let order = try PurgeOrder(json: Array(body.utf8))
    #expect(try order.json == JSONValue(reading: Array(sent.utf8)))
    #expect(try PurgeOrder(order.json).json == order.json)
  }

  @Test(
    "an invalid purge is refused with the reason",
    arguments: [
      ("", "not a JSON object"), ("[]", "not a JSON object"), ("{", "not a JSON object"), ("{}", "none of them"),
      (#"{"soft": true}"#, "none of them"), (#"{"url": "/a", "tag": "b"}"#, "tag and url"),
      (#"{"urls": "/a"}"#, "urls"),
      (#"{"url": 1}"#, "url is not a text"), (#"{"prefix": ["/"]}"#, "prefix is not a text"),
      (#"{"tags": "a"}"#, "tags is not a list"), (#"{"tags": []}"#, "from 1 to 256 tags; this one has 0"),
      (#"{"tags": ["a", 1]}"#, "a tag is a text"), (#"{"tag": ""}"#, "a tag is a text"),
      (#"{"all": false}"#, "all is not true"),
      (#"{"all": 1}"#, "all is not true"), (#"{"all": true, "soft": "yes"}"#, "soft is neither"),
      (#"{"url": null}"#, "url is not a text"),
    ])
  func invalidOrders(_ body: String, _ reason: String) async throws {
    let answer = try await purge(body)
    #expect(answer.status == 400 && answer.text.contains(reason), "\(answer.text)")
    #expect(answer.text.hasPrefix(#"{"error":"#) && answer.orders.isEmpty)
  }

  @Test("without a gateway a purge is a 404")
  func noGateway() async throws {
    let answer = try await purge(#"{"all": true}"#, hasGateway: false)
    #expect(answer.status == 404 && answer.text.contains("no gateway"))
  }

  @Test("a purge without the token is a 401", arguments: [nil, "wrong"])
  func missingToken(_ token: String?) async throws {
    let answer = try await purge(#"{"all": true}"#, token: token)
    #expect(answer.status == 401 && answer.orders.isEmpty)
  }

  @Test("a purge with a large body is a 413")
  func largeOrder() async throws {
    let answer = try await purge(#"{"url": "/\#(String(repeating: "a", count: 300_000))"}"#)
    #expect(answer.status == 413)
  }

  @Test("a failure of the store is a 500 with the reason")
  func failingStore() async throws {
    struct Broken: Error, CustomStringConvertible { let description = "the disk is away" }
    let answer = try await purge(#"{"all": true}"#, failing: Broken())
    #expect(answer.status == 500 && answer.text.contains("the disk is away"))
  }
}
