import Foundation
import PageTesting
import TestServers
import TestSupport
import Testing

/// The bytes of the gateway that reach an origin, which records all.
@Suite(.timeLimit(.minutes(5)))
struct SmugglingTests {
  @Test("every form of a request is refused, or reaches the origin as exactly one well-formed request")
  func text() async throws {
    try await Self.run(Smuggling.text) { row, port in
      let client = try RawClient(port: port)
      client.send(row.bytes)
      let answer = try await client.readToEnd()
      return answer.ranges(of: "HTTP/1.").compactMap { Int(answer[$0.upperBound...].dropFirst(2).prefix(3)) }
        .filter { $0 >= 200 }
    }
    #expect(Smuggling.text.count + Smuggling.frames.count >= 100)
  }

  @Test("every form of a request of HTTP/2 is refused, or reaches an origin of HTTP/1 as one well-formed request")
  func frames() async throws {
    let folder = try TemporaryDirectory()
    let flags = try await SecureDaemon.certificate(in: folder)
    // Beside a load a client's frames come late.
    let times = ["--head-time", "10", "--body-time", "10", "--idle-time", "10"]
    try await Self.run(Smuggling.frames, times + flags + ["--admin-listen", "127.0.0.1:0"]) { row, port in
      let client = try await SecureClient.connected(port: port)
      client.send(Wire.preface + Wire.emptySettings + row.bytes)
      try? await client.received.wait(within: .seconds(60)) { received in
        let shown = FrameObservation(received.bytes, isClosed: received.isClosed)
        return received.isClosed || shown.statuses[1] ?? 0 >= 200 || shown.resets[1] != nil
      }
      let shown = client.received.read { FrameObservation($0.bytes, isClosed: $0.isClosed) }
      return shown.statuses[1].map { [$0] } ?? (shown.resets[1] != nil || shown.isClosed ? [] : [0])
    }
    withExtendedLifetime(folder) {}
  }

  /// Sends each row, eight at a time, and compares what the origin has got.
  ///
  /// - Parameter send: sends a row; returns the statuses of the answers.
  private static func run(
    _ rows: [Smuggling], _ flags: [String] = [], _ send: @escaping @Sendable (Smuggling, Int) async throws -> [Int]
  ) async throws {
    let folder = try TemporaryDirectory()
    let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nCache-Control: no-store\r\n\r\nok".utf8)
    let answered: @Sendable ([UInt8]) -> (bytes: [UInt8], closes: Bool)? = { bytes in
      RecordedRequest.all(in: bytes).rest.isEmpty ? (answer, false) : nil
    }
    try await RawOrigin.running(answered) { origin in
      let times = ["--head-time", "4", "--body-time", "4", "--idle-time", "2", "--connections-per-address", "1000"]
      let place = ["--gateway", "127.0.0.1:0", "--origin", "http://127.0.0.1:\(origin.port)"]
      try await Daemon.running(nil, folder, times + place + flags, isReady: false) { daemon in
        let port = try #require(Int(try await daemon.gateway().split(separator: ":").last ?? ""))
        let statuses = try await outcomes(rows, port, send)
        let connections = origin.connections.read { $0.map(\.received) }
        let requests = connections.flatMap { RecordedRequest.all(in: $0).requests }
        #expect(requests.allSatisfy { !$0.line.contains("/smuggled") }, "\(requests)")
        for (index, row) in rows.enumerated() {
          let own = requests.filter { $0.line.contains(named(index)) }
          check(row, statuses[index] ?? [], own, named(index))
        }
        // Every byte that the origin has got is part of a row's request.
        #expect(requests.allSatisfy { $0.line.contains("item-") }, "\(requests)")
        for rest in connections.map({ RecordedRequest.all(in: $0).rest }) where !rest.isEmpty {
          #expect(!String(decoding: rest, as: UTF8.self).hasPrefix("GET /smuggled"))
        }
        print("\(rows.count) rows of smuggling were tried")
      }
    }
    withExtendedLifetime(folder) {}
  }

  private static func outcomes(
    _ rows: [Smuggling], _ port: Int, _ send: @escaping @Sendable (Smuggling, Int) async throws -> [Int]
  ) async throws -> [Int: [Int]] {
    try await withThrowingTaskGroup(of: (Int, [Int]).self) { group in
      var statuses: [Int: [Int]] = [:]
      for (index, row) in rows.enumerated() {
        if index >= 16, let (index, answers) = try await group.next() { statuses[index] = answers }
        let own = Smuggling(
          name: row.name, bytes: row.bytes.replacing(name.utf8, with: named(index).utf8), expected: row.expected)
        group.addTask { (index, try await send(own, port)) }
      }
      for try await (index, answers) in group { statuses[index] = answers }
      return statuses
    }
  }

  /// A name of the row's own, which is as long as the one that it replaces.
  private static func named(_ index: Int) -> String { "item-\(1000 + index)" }

  private static let name = "item-0000"

  private static func check(_ row: Smuggling, _ statuses: [Int], _ requests: [RecordedRequest], _ name: String) {
    let place = "\(row.name): \(statuses) \(requests)"
    switch row.expected {
    case .refused:
      #expect(requests.isEmpty, "\(place)")
      #expect(
        statuses.count <= 1 && statuses.allSatisfy { 400...505 ~= $0 && ![500, 502, 503, 504].contains($0) }, "\(place)"
      )
    case .passed(let line, let body): passed(requests, line.replacing(Self.name, with: name), body, place)
    case .either(let line, let body):
      if requests.isEmpty {
        #expect(statuses.allSatisfy { 400...505 ~= $0 }, "\(place)")
      } else {
        passed(requests, line.replacing(Self.name, with: name), body, place)
      }
    }
  }

  private static func passed(_ requests: [RecordedRequest], _ line: String, _ body: String, _ place: String) {
    #expect(requests.count == 1, "\(place)")
    #expect(requests.first?.line == line && requests.first?.body == body, "\(place)")
  }
}

/// A request as a strict server reads it.
struct RecordedRequest: Sendable {
  let line: String
  let body: String

  /// Returns the complete, well-formed requests of a connection, and the bytes behind them.
  static func all(in bytes: [UInt8]) -> (requests: [RecordedRequest], rest: [UInt8]) {
    var requests: [RecordedRequest] = []
    var rest = bytes[...]
    while let (request, after) = next(in: rest) {
      requests.append(request)
      rest = after
    }
    return (requests, Array(rest))
  }

  private static func next(in bytes: ArraySlice<UInt8>) -> (RecordedRequest, ArraySlice<UInt8>)? {
    guard let border = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    let lines = String(decoding: bytes[..<border.lowerBound], as: UTF8.self).split(
      separator: "\r\n", omittingEmptySubsequences: false)
    guard let line = lines.first, line.split(separator: " ").count == 3, line.hasSuffix(" HTTP/1.1") else { return nil }
    var fields: [String: [String]] = [:]
    for text in lines.dropFirst() {
      guard let colon = text.firstIndex(of: ":"), isToken(text[..<colon]),
        !text.unicodeScalars.contains(where: { $0.value < 0x20 && $0.value != 9 })
      else { return nil }
      let value = text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces)
      fields[text[..<colon].lowercased(), default: []].append(value)
    }
    guard fields["host"]?.count == 1 else { return nil }
    let (lengths, codings) = (fields["content-length"] ?? [], fields["transfer-encoding"] ?? [])
    let after = bytes[border.upperBound...]
    switch (lengths.count, codings.count) {
    case (0, 0): return (RecordedRequest(line: String(line), body: ""), after)
    case (1, 0):
      guard lengths[0].utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let length = Int(lengths[0]), after.count >= length
      else { return nil }
      let body = String(decoding: after.prefix(length), as: UTF8.self)
      return (RecordedRequest(line: String(line), body: body), after.dropFirst(length))
    case (0, 1) where codings[0] == "chunked": return chunked(String(line), after)
    default: return nil
    }
  }

  private static func chunked(_ line: String, _ bytes: ArraySlice<UInt8>) -> (RecordedRequest, ArraySlice<UInt8>)? {
    var (body, rest) = ([UInt8](), bytes)
    let end = Array("\r\n".utf8)
    while let border = rest.firstRange(of: end) {
      let text = String(decoding: rest[..<border.lowerBound], as: UTF8.self)
      guard !text.isEmpty, text.allSatisfy(\.isHexDigit), let size = Int(text, radix: 16) else { return nil }
      rest = rest[border.upperBound...]
      if size == 0 {
        // Trailers end with an empty line.
        while let border = rest.firstRange(of: end) {
          let isEmpty = border.lowerBound == rest.startIndex
          rest = rest[border.upperBound...]
          if isEmpty { return (RecordedRequest(line: line, body: String(decoding: body, as: UTF8.self)), rest) }
        }
        return nil
      }
      guard rest.count >= size + 2, rest.dropFirst(size).prefix(2).elementsEqual(end) else { return nil }
      body += rest.prefix(size)
      rest = rest.dropFirst(size + 2)
    }
    return nil
  }

  private static func isToken(_ name: Substring) -> Bool {
    !name.isEmpty && name.utf8.allSatisfy { 0x21...0x7E ~= $0 && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
  }
}
