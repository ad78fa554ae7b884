import Foundation
import PageTesting
import Synchronization
import TestServers
import Testing

/// The cost of floods for the daemon in memory and time; the figures are printed as a table.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct FloodTests {
  /// A client that sends more than anybody needs.
  struct Flood: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Sends the flood; returns what has to be kept while the memory is measured.
    let send: @Sendable (_ port: Int) async throws -> [any AnyObject & Sendable]
  }

  /// The limit of the daemon's growth in each flood.
  private static let budget = 64 << 20
  private static let count = 20_000

  /// Frames on one connection, in pieces, until the daemon ends it.
  private static func frames(
    _ name: String, _ first: [[UInt8]] = [], pieces: Int = 20, _ piece: @escaping @Sendable (Int) -> [UInt8]
  ) -> Flood {
    Flood(testDescription: name) { port in
      let client = try await SecureClient.connected(port: port)
      client.send(Wire.preface + Wire.emptySettings + first.joined())
      for index in 0..<pieces where !client.received.read(\.isClosed) { await client.sent(piece(index)) }
      return [client]
    }
  }

  /// The same frame again and again.
  private static func repeated(_ name: String, _ frame: [UInt8], after first: [[UInt8]] = []) -> Flood {
    let piece = Array(repeatElement(frame, count: count / 20).joined())
    return frames(name, first) { _ in piece }
  }

  /// Connections that each send the same.
  private static func connections(_ name: String, _ count: Int, reads: Bool = true, _ bytes: [UInt8]) -> Flood {
    Flood(testDescription: name) { port in
      var clients: [SecureClient] = []
      for _ in 0..<count {
        let client = try await SecureClient.connected(port: port, reads: reads)
        client.send(bytes)
        clients.append(client)
      }
      return clients
    }
  }

  private static let start = Wire.preface + Wire.emptySettings
  private static let large = [Wire.get, Wire.https, Wire.authority, Wire.field(":path", "/bundles/large.js")]
  private static let manyLarge = Array((0..<90).map { Wire.headers(large, on: UInt32($0) * 2 + 1) }.joined())
  private static let manyOpen = Array((0..<100).map { Wire.headers(Wire.sending, on: UInt32($0) * 2 + 1, 4) }.joined())
  private static let bomb: [UInt8] =
    [0x40, 1, 0x78] + Wire.string(Array(repeating: 0x61, count: 4_000)) + Array(repeating: 0xBE, count: 10_000)

  static let all: [Flood] = [
    frames("20,000 requests that are reset at once (CVE-2023-44487)") { index in
      Array(
        (0..<1_000).map { number -> [UInt8] in
          let stream = UInt32(index * 1_000 + number) * 2 + 1
          return Wire.request(stream) + Wire.reset(stream)
        }.joined())
    },
    frames("20,000 requests that the daemon has to reset (CVE-2025-8671)") { index in
      Array(
        (0..<1_000).map { number -> [UInt8] in
          let stream = UInt32(index * 1_000 + number) * 2 + 1
          return Wire.headers(Wire.sending, on: stream, 4) + Wire.window(stream, 0)
        }.joined())
    },
    frames("20,000 requests whose bodies are longer than they say (CVE-2025-8671)") { index in
      Array(
        (0..<1_000).map { number -> [UInt8] in
          let stream = UInt32(index * 1_000 + number) * 2 + 1
          return Wire.headers(Wire.sending + [Wire.field("content-length", "1")], on: stream, 4)
            + Wire.data("ab", on: stream)
        }.joined())
    },
    frames("20,000 frames of one byte each, of a body that nobody reads", [Wire.headers(Wire.sending, 4)]) { _ in
      Array(repeatElement(Wire.data("a", ends: false), count: 1_000).joined())
    },
    repeated("20,000 SETTINGS (CVE-2019-9515)", Wire.settings(Wire.setting(4, 65_535))),
    repeated("20,000 PING (CVE-2019-9512)", Wire.ping()),
    repeated("20,000 empty DATA (CVE-2019-9518)", Wire.data("", ends: false), after: [Wire.headers(Wire.sending, 4)]),
    repeated(
      "20,000 CONTINUATION (CVE-2024-27316)", Wire.continuation([Wire.field("x", "y")], ends: false),
      after: [Wire.headers(Wire.request, 1)]),
    repeated("20,000 empty CONTINUATION", Wire.continuation([], ends: false), after: [Wire.headers(Wire.request, 1)]),
    repeated("20,000 WINDOW_UPDATE", Wire.window(0, 1)),
    repeated("20,000 PRIORITY (CVE-2019-9513)", Wire.frame(2, on: 3, [0, 0, 0, 5, 1])),
    repeated("20,000 frames of types that there are not", Wire.frame(0x42, [1, 2, 3, 4])),
    frames("50 lists of 40 MB that HPACK makes of 14 KB", pieces: 50) { index in
      Wire.headers(Wire.request + [bomb], on: UInt32(index) * 2 + 1)
    },
    frames("200 requests whose fields change HPACK's table 100 times each", pieces: 200) { index in
      let fields = (0..<100).map { [0x40] + Wire.string(Array("x\(index)-\($0)".utf8)) + Wire.string([0x79]) }
      return Wire.headers(Wire.request + fields, on: UInt32(index) * 2 + 1)
    },
    connections(
      "4 × 90 answers of 8 MB for windows of no bytes (CVE-2019-9517)", 4,
      Wire.preface + Wire.settings(Wire.setting(4, 0)) + manyLarge),
    connections(
      "4 × 90 answers of 8 MB for clients that do not read (CVE-2019-9511)", 4, reads: false,
      Wire.preface + Wire.settings(Wire.setting(4, 0x7FFF_FFFF)) + Wire.window(0, 0x7FFF_0000) + manyLarge),
    connections("10 × 100 requests whose bodies do not come", 10, start + manyOpen),
    connections("100 connections with half a preface", 100, Array(Wire.preface.prefix(9))),
    connections("100 connections with half a head", 100, start + Wire.headers([Wire.get], 1)),
    connections(
      "100 connections with half a body", 100, start + Wire.headers(Wire.sending, 4) + Wire.data("a", ends: false)),
    Flood(testDescription: "700 connections without a handshake") { port in
      try (0..<700).map { _ in try RawClient(port: port) }
    },
    Flood(testDescription: "300 heads of HTTP/1 that come byte by byte") { port in
      let clients = try (0..<300).map { _ in try RawClient(port: port) }
      // TLS's own head, which the daemon has to keep.
      for byte in [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3] as [UInt8] { for client in clients { client.send([byte]) } }
      return clients
    },
  ]

  @Test("a flood costs bounded memory, and others are answered meanwhile")
  func floods() async throws {
    try await SecureDaemon.running(["--connections-per-address", "1000", "--head-time", "5"]) { daemon, port in
      #expect(try await SecureDaemon.answers(port))
      print("| flood | time | growth |")
      for flood in Self.all { try await measure(flood, daemon, port) }
      #expect(Self.all.count >= 14)
    }
  }

  private func measure(_ flood: Flood, _ daemon: Daemon, _ port: Int) async throws {
    let before = try daemon.proportionalBytes()
    let peak = Atomic(before)
    let watch = Task {
      while !Task.isCancelled {
        peak.max((try? daemon.proportionalBytes()) ?? 0, ordering: .relaxed)
        try? await Task.sleep(for: .milliseconds(10))
      }
    }
    defer { watch.cancel() }
    let began = ContinuousClock.now
    async let answers = SecureDaemon.answers(port)
    let clients = try await flood.send(port)
    // Those that come while the flood is there, and behind it.
    #expect(try await answers, "\(flood.testDescription)")
    #expect(try await SecureDaemon.answers(port), "\(flood.testDescription)")
    let time = ContinuousClock.now - began
    peak.max(try daemon.proportionalBytes(), ordering: .relaxed)
    let grown = peak.load(ordering: .relaxed) - before
    print("| \(flood.testDescription) | \(time.formatted(.units(allowed: [.milliseconds]))) | \(grown >> 20) MiB |")
    #expect(grown < Self.budget, "\(flood.testDescription): the daemon has grown by \(grown >> 20) MiB")
    withExtendedLifetime(clients) {}
  }
}
