import Foundation
import Hummingbird
import Logging
import PageTesting
import Testing

@testable import RenderHost
@testable import ServerKit

struct LogThrottleTests {
  @Test("the first occurrence is logged, and then one per interval with the count")
  func throttle() {
    let start = ContinuousClock.now
    let recurrences = LogThrottles(every: .seconds(10))
    let said = [0, 1, 1, 9, 10, 11, 19, 40, 41].map { recurrences.count("a", at: start + .seconds($0)) }
    #expect(said == [1, nil, nil, nil, 4, nil, nil, 3, nil])
  }

  @Test("each name is counted separately, up to a limit")
  func throttledNames() {
    let recurrences = LogThrottles(every: .seconds(10))
    let now = ContinuousClock.now
    #expect(recurrences.count("a", at: now) == 1 && recurrences.count("b", at: now) == 1)
    #expect(recurrences.count("a", at: now) == nil)
    for number in 0..<LogThrottles.limit { _ = recurrences.count("\(number)", at: now) }
    #expect(recurrences.count("c", at: now) == nil && recurrences.count("d", at: now + .seconds(10)) == 3)
    #expect(recurrences.count("b", at: now + .seconds(10)) == 1)
  }

  @Test("refused requests share a log line", arguments: [(503, 1), (429, 1), (404, 20), (502, 20)])
  func refusedRequests(_ status: Int, _ expected: Int) async throws {
    let lines = Monitor<[Data]>([])
    let router = Router(context: HostRequestContext.self)
    router.add(middleware: HostMiddleware(ServerSettings(), metrics: HostMetrics()))
    router.get("/") { _, _ in Response(status: .init(code: status)) }
    let logger = Logger(label: "l") { JSONLogHandler(label: $0) { line in lines.change { $0.append(line) } } }
    try await Application(router: router, logger: logger).serve { client in
      for _ in 0..<20 { try await client.execute(uri: "/", method: .get) { _ in } }
    }
    let answered = lines.read { $0 }.filter { String(decoding: $0, as: UTF8.self).contains("Answered") }
    #expect(answered.count == expected)
  }
}
