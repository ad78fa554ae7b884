/// An attack of a client on the daemon, and its permitted results.
struct Attack: Sendable {
  enum Target: Sendable {
    /// The listener with bundles and pages.
    case host
    case gateway
  }

  let name: String
  let target: Target
  let text: String
  /// The permitted statuses of the first answer; 0 for a connection that ends without one.
  let expected: Set<Int>
  /// The limit of answers: bytes hidden after a request must not become a request.
  var answers = 1

  /// A request that consists of one head and ends its connection.
  ///
  /// - Parameters:
  ///   - fields: the lines of the head, besides `Connection: close`; a `Host` is added if there is none.
  ///   - body: the body, whose `Content-Length` is added.
  static func request(
    _ name: String, _ line: String, _ fields: [String], body: String? = nil, to target: Target = .host,
    _ expected: Set<Int>
  ) -> Attack {
    var lines = ["\(line) HTTP/1.1"] + fields + ["Connection: close"]
    if !fields.contains(where: { $0.lowercased().hasPrefix("host:") }) { lines.insert("Host: localhost", at: 1) }
    if let body { lines.append("Content-Length: \(body.utf8.count)") }
    return Attack(
      name: name, target: target, text: lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""),
      expected: expected)
  }

  /// A request without further fields.
  static func request(_ name: String, _ line: String, to target: Target = .host, _ expected: Set<Int>) -> Attack {
    request(name, line, [], to: target, expected)
  }

  /// Bytes that are sent unchanged.
  static func bytes(
    _ name: String, _ target: Target, _ text: String, _ expected: Set<Int>, answers: Int = 1
  ) -> Attack {
    Attack(name: name, target: target, text: text, expected: expected, answers: answers)
  }

  /// Percent-encodes every byte that is not unreserved in URLs.
  static func encoded(_ text: String) -> String {
    text.utf8.map { byte in
      let digits = String(byte, radix: 16)
      return "%" + (digits.count == 1 ? "0" : "") + digits
    }.joined()
  }

  static let all =
    paths + addresses + sites + json + heads(.host) + heads(.gateway) + framing(.host) + framing(.gateway)
    + administration + gatewayTargets + ranges
}

extension Array where Element == Attack {
  /// The attacks of all combinations.
  static func each<A, B>(_ first: [A], _ second: [B], _ make: (A, B) -> Attack) -> [Attack] {
    first.flatMap { a in second.map { make(a, $0) } }
  }
}
