/// Something that a client sends to the daemon, and what may come of it.
struct Attack: Sendable {
  enum Target: Sendable {
    /// The listener with bundles and pages.
    case host
    case gateway
  }

  let name: String
  let target: Target
  let text: String
  /// Statuses of the first answer; 0 for a connection that ends without one.
  let expected: Set<Int>
  /// Answers that may come at most: what is hidden behind a request is to be no request of its own.
  var answers = 1

  /// A request of one head, whose connection ends with it.
  ///
  /// - Parameters:
  ///   - fields: lines of the head, besides `Connection: close`; a `Host` is added where they have none.
  ///   - body: gets a `Content-Length`.
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

  /// The same without more fields.
  static func request(_ name: String, _ line: String, to target: Target = .host, _ expected: Set<Int>) -> Attack {
    request(name, line, [], to: target, expected)
  }

  /// Bytes as they are.
  static func bytes(
    _ name: String, _ target: Target, _ text: String, _ expected: Set<Int>, answers: Int = 1
  ) -> Attack {
    Attack(name: name, target: target, text: text, expected: expected, answers: answers)
  }

  /// Every byte as a URL has it that has no other meaning there.
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
  /// Every attack of a combination.
  static func each<A, B>(_ first: [A], _ second: [B], _ make: (A, B) -> Attack) -> [Attack] {
    first.flatMap { a in second.map { make(a, $0) } }
  }
}
