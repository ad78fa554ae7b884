import Foundation
import HTTPTypes
import Hummingbird
import Logging
import PageTesting
import Testing

@testable import RenderHost
@testable import ServerKit

struct LogTests {
  private static func fields(_ line: Data) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: line) as? [String: Any])
  }

  @Test("a log line is one JSON object for any text")
  func jsonLine() throws {
    let lines = Monitor<[Data]>([])
    var logger = Logger(label: "l") { JSONLogHandler(label: $0) { line in lines.change { $0.append(line) } } }
    logger[metadataKey: "id"] = "7"
    logger.warning("a \"b\"\n{c}", metadata: ["n": .stringConvertible(3), "list": ["x", ["y": "z"]]])
    let line = try #require(lines.read { $0.first })
    #expect(line.last == 0x0A && line.filter { $0 == 0x0A }.count == 1)
    let fields = try Self.fields(line)
    #expect(fields["message"] as? String == "a \"b\"\n{c}" && fields["level"] as? String == "warning")
    #expect(fields["id"] as? String == "7" && fields["n"] as? Double == 3 && fields["logger"] as? String == "l")
    #expect((fields["list"] as? [Any])?.count == 2)
    #expect((fields["time"] as? String)?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
  }

  @Test("the levels of the log and of the access log change while the host runs")
  func levels() throws {
    let lines = Monitor<[Data]>([])
    let levels = LogLevels()
    let logger = Logger(label: "l") { label in
      HostLogHandler(JSONLogHandler(label: label) { line in lines.change { $0.append(line) } }, levels: levels)
    }
    let log = AccessLog(levels: levels)
    func answers(_ status: Int) -> Bool {
      let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
      return log.line(for: request, version: .http11, status: status, note: nil, logger) != nil
    }
    logger.debug("left out")
    logger.info("Server started and listening on 127.0.0.1:1")
    logger.info("one")
    #expect(answers(200))
    levels.current = .init(log: .debug, access: .warning)
    logger.debug("two")
    #expect(!answers(200) && answers(500))
    levels.current = .init(log: .error, access: .info)
    logger.warning("left out")
    #expect(answers(200))
    levels.current = .init(log: .notice)
    #expect(!answers(200))
    #expect(try lines.read { $0 }.map(Self.fields).map { $0["message"] as? String } == ["one", "two"])
    for log in Logger.Level.allCases {
      for access in Logger.Level.allCases.map(Optional.some) + [nil] {
        levels.current = .init(log: log, access: access)
        #expect(levels.current == .init(log: log, access: access))
      }
    }
  }

  @Test("each request has one line in the log, with its id and without its query")
  func accessLogLine() async throws {
    let lines = Monitor<[Data]>([])
    let server = HostServer(
      settings: Settings(), controls: .fake(), metrics: HostMetrics(),
      logger: Logger(label: "unused") { _ in SwiftLogNoOpLogHandler() })
    let router = try server.router()
    let logger = Logger(label: "l") { JSONLogHandler(label: $0) { line in lines.change { $0.append(line) } } }
    try await Application(router: router, logger: logger).serve { client in
      try await client.execute(uri: "/nothing?token=secret", method: .get, headers: [.requestID: "abc"]) { _ in }
    }
    let answered = try lines.read { $0 }.map(Self.fields).filter { $0["message"] as? String == "Answered" }
    #expect(answered.count == 1)
    let fields = try #require(answered.first)
    #expect(fields["hb.request.id"] as? String == "abc" && fields["path"] as? String == "/nothing")
    #expect(fields["status"] as? Double == 404 && fields["method"] as? String == "GET")
    #expect(fields["bytes"] as? Double == 44 && fields["ms"] != nil)
  }
}
