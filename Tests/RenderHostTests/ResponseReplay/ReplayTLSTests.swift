import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PageTesting
import TestServers
import TestSupport
import Testing

@testable import RenderHost
@testable import ServerKit

/// Replays over TLS, by HTTP/1.1 and by HTTP/2.
@Suite(.timeLimit(.minutes(2)))
struct ReplayTLSTests {
  enum Version: String, CaseIterable {
    case http1 = "--http1.1"
    case http2 = "--http2"
  }

  private let asked = Monitor(0)
  private let isCurrent = Monitor(true)

  /// The text of the next answer that the host makes.
  private func made() -> String {
    var number = 0
    asked.change {
      $0 += 1
      number = $0
    }
    return "answer \(number)."
  }

  private func host(in folder: TemporaryDirectory) async throws -> LiveHost {
    let files = try await TLSFiles.made("one", in: folder)
    var settings = Settings()
    (settings.certificate, settings.privateKey) = (files.certificate, files.privateKey)
    return try await LiveHost(settings) { [isCurrent] router in
      router.get("/known") { _, context in
        context.replay?.allow { isCurrent.read { $0 } }
        return made()
      }
      router.get("/large") { _, context in
        context.replay?.allow { true }
        return made() + " " + String(repeating: "x", count: 200_000)
      }
      router.get("/other") { _, _ in made() }
    }
  }

  /// The heads and bodies of requests on one connection.
  private func ask(_ host: LiveHost, _ version: Version, _ paths: [String], _ more: String...) async throws -> String {
    let urls = paths.map { "https://127.0.0.1:\(host.port)\($0)" }
    return try await curl([version.rawValue, "-D", "-"] + more + urls)
  }

  private func curl(_ arguments: [String]) async throws -> String {
    try await Tool.start("curl", ["-sk"] + arguments).result(within: .seconds(60)).output
  }

  @Test("an identical request gets the same answer with a new id", arguments: Version.allCases)
  func identicalRequest(_ version: Version) async throws {
    let folder = try TemporaryDirectory()
    let host = try await host(in: folder)
    var ids: Set<Substring> = []
    for _ in 0..<2 {
      let answers = try await ask(host, version, ["/known", "/known", "/known"])
      #expect(answers.components(separatedBy: "\r\n\r\nanswer 1.").count == 4, "\(answers)")
      #expect(answers.matches(of: /(?i)date: [^\r\n]* GMT/).count == 3)
      #expect(answers.matches(of: /(?i)content-length: 9/).count == 3)
      ids.formUnion(answers.matches(of: /(?i)x-request-id: ([0-9a-f]{16})/).map(\.output.1))
    }
    #expect(ids.count == 6)
    #expect(asked.read { $0 } == 1)
    let labels = ["method": "GET", "route": "/known", "status": "200"]
    let text = host.metrics.registry.text(.prometheus)
    #expect(try StrictMetrics(text).value("renderhost_http_requests_total", labels) == 6)
    try await host.stop()
  }

  @Test("an outdated answer is not replayed", arguments: Version.allCases)
  func outdated(_ version: Version) async throws {
    let folder = try TemporaryDirectory()
    let host = try await host(in: folder)
    #expect(try await ask(host, version, ["/known"]).hasSuffix("answer 1."))
    isCurrent.change { $0 = false }
    #expect(try await ask(host, version, ["/known"]).hasSuffix("answer 2."))
    try await host.stop()
  }

  @Test("a request that differs is not replayed", arguments: Version.allCases)
  func different(_ version: Version) async throws {
    let folder = try TemporaryDirectory()
    let host = try await host(in: folder)
    #expect(try await ask(host, version, ["/known"]).hasSuffix("answer 1."))
    #expect(try await ask(host, version, ["/known?a"]).hasSuffix("answer 2."))
    #expect(try await ask(host, version, ["/known"], "-H", "Accept: a").hasSuffix("answer 3."))
    #expect(try await ask(host, version, ["/known"], "-H", "X-Request-Id: mine").hasSuffix("answer 4."))
    #expect(try await ask(host, version, ["/known"], "-H", "X-Request-Id: mine").hasSuffix("answer 5."))
    #expect(try await ask(host, version, ["/known"], "-I").hasSuffix("\r\n\r\n"))
    #expect(try await ask(host, version, ["/known"], "-X", "GET", "-d", "").hasSuffix("answer 7."))
    #expect(try await ask(host, version, ["/other", "/other"]).hasSuffix("answer 9."))
    #expect(try await ask(host, version, ["/known"]).hasSuffix("answer 1."))
    try await host.stop()
  }

  @Test("large answers are replayed whole, also many at once", arguments: Version.allCases)
  func large(_ version: Version) async throws {
    let folder = try TemporaryDirectory()
    let host = try await host(in: folder)
    // A client may have all bytes of a large answer before its end is written, and only then it is recorded.
    var number = 0
    while asked.read({ $0 }) > number || number == 0 {
      number = asked.read { $0 }
      #expect(try await ask(host, version, ["/large"]).hasSuffix("x"))
    }
    let sizes = try await curl(
      [version.rawValue, "-Z", "--parallel-max", "20", "-w", "%{size_download} %{http_code}\n"]
        + (0..<40).flatMap { _ in ["-o", "/dev/null", "https://127.0.0.1:\(host.port)/large"] })
    let lines = sizes.split(separator: "\n")
    #expect(lines.count == 40 && lines.allSatisfy { $0 == "200010 200" }, "\(sizes)")
    #expect(asked.read { $0 } == number)
    try await host.stop()
  }

  // MARK: Heads of HTTP/2

  @Test("the lifetime of the nearest cache is renewed, and that of the caches behind it is as it was")
  func nearestCache() throws {
    let (edge, own) = ("Edge; hit; ttl=600", "PageKit; hit; ttl=60")
    let renewed = RenewedValues(date: "DATE", requestID: "ID", age: 7)
    let head = Self.head(["age: 5", "cache-status: \(edge)", "x-request-id: i", "cache-status: \(own)"])
    let ofStream = try #require(RecordedHead(head, .age)).lines(renewed).filter { $0.hasPrefix("cache-status") }
    #expect(ofStream == ["cache-status: \(edge)", "cache-status: PageKit; hit; ttl=53"])
    let text = "HTTP/1.1 200 OK\r\nAge: 5\r\nCache-Status: \(edge)\r\nX-Request-Id: i\r\nCache-Status: \(own)\r\n\r\n"
    var buffer = ByteBuffer()
    #expect(try #require(RecordedHead(ByteBuffer(string: text), .age)).write(renewed, to: &buffer))
    let lines = String(buffer: buffer).split(separator: "\r\n").filter { $0.hasPrefix("Cache-Status") }
    #expect(lines == ["Cache-Status: \(edge)", "Cache-Status: PageKit; hit; ttl=53"])
  }

  @Test("a recorded head of HTTP/2 renews its values and keeps the others")
  func renewedHead() throws {
    let lines = [
      "age: 5", "cache-status: origin; hit; ttl=100, gateway; hit; ttl=55; detail=MEM", "x-request-id: i",
      "etag: \"a\"",
    ]
    let recorded = try #require(RecordedHead(Self.head(lines), .age))
    let renewed = recorded.lines(RenewedValues(date: "DATE", requestID: "ID", age: 7))
    #expect(
      renewed == [
        ":status: 200", "age: 12", "cache-status: origin; hit; ttl=100, gateway; hit; ttl=48; detail=MEM",
        "x-request-id: ID", "etag: \"a\"",
      ])
    for missing in ["age", "x-request-id"] {
      #expect(RecordedHead(Self.head(lines.filter { !$0.hasPrefix(missing) }), .age) == nil)
    }
    #expect(RecordedHead(Self.head(lines), .date) == nil)
  }

  private static func head(_ lines: [String]) -> HTTPResponse {
    var head = HTTPResponse(status: .ok)
    for line in lines {
      guard let colon = line.range(of: ": "), let name = HTTPField.Name(String(line[..<colon.lowerBound])) else {
        continue
      }
      head.headerFields.append(HTTPField(name: name, value: String(line[colon.upperBound...])))
    }
    return head
  }

  @Test("heads of HTTP/2 have different bytes unless all fields are the same")
  func keys() throws {
    func key(_ fields: [(String, String)]) -> ByteBuffer {
      var key = HTTP2Fields()
      for (name, value) in fields { key.add(name, value) }
      return key.bytes
    }
    let get = [(":method", "GET"), (":path", "/")]
    #expect(key(get) == key(get))
    #expect(key(get) != key(get + [("a", "b")]))
    #expect(key(get + [("a", "b"), ("c", "d")]) != key(get + [("a", "b\u{0}c\u{0}d")]))
    #expect(key(get + [("ab", "c")]) != key(get + [("a", "bc")]))
  }

  @Test("bytes of fields that are not UTF-8 reach the other side unchanged")
  func opaqueBytes() {
    let value: [UInt8] = [0x61, 0xE9, 0x62, 0xC3, 0xA9]
    var fields = HTTP2Fields()
    Array("x-a".utf8).withUnsafeBytes { name in value.withUnsafeBytes { fields.add(name: name, value: $0) } }
    var again = HTTP2Fields()
    for field in fields.trailers { again.add(field.name.canonicalName, field.value) }
    #expect(again.bytes == fields.bytes)
  }
}

extension RecordedHead {
  /// The fields of a head of HTTP/2, each as a line.
  fileprivate func lines(_ renewed: RenewedValues) -> [String] {
    guard let (fields, changed) = fields(renewed) else { return [] }
    return fields.withPairs(changed: changed) { pairs in
      pairs.map { pair in
        func text(_ start: UnsafeMutablePointer<UInt8>?, _ count: Int) -> String {
          String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
        }
        return "\(text(pair.name, pair.namelen)): \(text(pair.value, pair.valuelen))"
      }
    }
  }
}
