import Foundation
import Testing

@testable import RenderHost
@testable import ServerKit

struct FailureLogTests {
  private let start = Date(timeIntervalSince1970: 1_795_000_000)

  @Test("failures have their time and are listed newest first")
  func order() {
    let log = FailureLog()
    log.append(.page, "one", of: "a.js", at: start)
    log.append(.worker, "two", at: start + 2)
    log.append(.release, "three", at: start + 1)
    #expect(log.latest.map(\.message) == ["two", "three", "one"])
    #expect(log.latest.map(\.time) == [start + 2, start + 1, start])
    #expect(log.latest.map(\.kind) == ["worker", "release", "page"])
    #expect(log.latest.map(\.subject) == [nil, nil, "a.js"])
  }

  @Test("a frequent kind does not hide others")
  func kinds() {
    let log = FailureLog()
    log.append(.release, "the source is away", at: start)
    for number in 1...100 { log.append(.page, "\(number)", at: start + Double(number)) }
    #expect(log.latest.count == FailureLog.limit + 1)
    #expect(log.latest.first?.message == "100" && log.latest.last?.message == "the source is away")
    #expect(FailureLog.limit * HostStatus.failureKinds.count <= HostStatus.failureLimit)
  }

  @Test("a repeated failure is listed once, and long texts are cut")
  func repetitions() {
    let log = FailureLog()
    log.append(.page, "x", of: "a.js", at: start)
    log.append(.page, "x", of: "b.js", at: start + 1)
    log.append(.page, "x", of: "a.js", at: start + 2)
    #expect(log.latest.map(\.subject) == ["a.js", "b.js"])
    #expect(log.latest.map(\.time) == [start + 2, start + 1])
    log.append(.page, "took 0.5 s", of: "c.js", cause: "time", at: start + 3)
    log.append(.page, "took 0.6 s", of: "c.js", cause: "time", at: start + 4)
    #expect(log.latest.map(\.message) == ["took 0.6 s", "x", "x"])
    log.append(.page, String(repeating: "y", count: 5_000), at: start + 5)
    #expect(log.latest.first?.message.count == FailureLog.textLimit)
  }
}
