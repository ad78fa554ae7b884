import Foundation
import HTTPCaching
import HTTPTypes
import NIOCore
import PageTesting
import Synchronization
import TestServers
import Testing

@testable import CacheGateway
@testable import RenderHost

/// A client of the gateway that sends identical requests on one connection.
final class RepeatingClient: Sendable {
  private let fixture: GatewayFixture
  private let client: RawClient
  private let head: String
  private let hasBody: Bool

  /// - Parameter source: the client's loopback address.
  init(
    _ fixture: GatewayFixture, _ path: String, _ fields: [String] = [], from source: String? = nil, hasBody: Bool = true
  ) throws {
    (self.fixture, self.hasBody) = (fixture, hasBody)
    client = try RawClient(port: fixture.port, from: source)
    let lines = ["GET \(path) HTTP/1.1", "Host: api.example.com"] + fields
    head = lines.joined(separator: "\r\n") + "\r\n\r\n"
  }

  /// Sends a request, and returns its answer, whose body ends with `~` or is absent.
  func ask() async throws -> String {
    client.send(head)
    let text = try await client.read(until: hasBody ? "~" : "\r\n\r\n")
    try #require(text.hasPrefix("HTTP/1.1 "), "closed after: \(text)")
    return text
  }

  /// Sends a request until the listener has recorded the answer.
  ///
  /// - Returns: the last answer.
  @discardableResult
  func learn(within limit: Duration = .seconds(60)) async throws -> String {
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline {
      let answer = try await ask()
      if isKnown { return answer }
    }
    Issue.record("the answer to \(head) is not learned")
    return ""
  }

  /// Returns `true` if the listener would replay an answer.
  var isKnown: Bool { fixture.recalled.answer(to: ByteBuffer(string: head)) != nil }

  static func body(_ answer: String) -> String { answer.components(separatedBy: "\r\n\r\n").last ?? "" }

  static func field(_ name: String, of answer: String) -> String? {
    answer.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix(name + ":") }
      .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
  }
}

/// A clock that only a test moves.
final class StandingClock: Sendable {
  private let second = Atomic<Int64>(Int64(Date().timeIntervalSince1970))

  var now: HTTPDate { HTTPDate(secondsSinceEpoch: second.load(ordering: .relaxed)) }
  func advance(by seconds: Int64) { second.add(seconds, ordering: .relaxed) }
}
