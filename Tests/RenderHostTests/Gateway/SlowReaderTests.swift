import Foundation
import PageTesting
import TestServers
import Testing

/// Clients that request long answers and do not read them.
@Suite(.timeLimit(.minutes(5)))
struct SlowReaderTests {
  private static let clients = 200
  /// The answers of all clients would take 2 GB of the daemon's memory.
  private static let size = 10 << 20

  @Test(
    "a client that does not read costs a few chunks of memory, which are freed afterwards, and others are answered",
    arguments: ["max-age=600", "no-store"])
  func slowReaders(_ control: String) async throws {
    let folder = try TemporaryDirectory()
    let origin = try await FaultOrigin.start()
    origin.serve("/big", [UInt8](repeating: 65, count: Self.size), headers: [.cacheControl: control])
    origin.serve("/small", Array("small".utf8), headers: [.cacheControl: "no-store"])
    let flags = [
      "--gateway", "127.0.0.1:0", "--origin", origin.url(for: "/"), "--connections-per-address", "1000",
    ]
    try await Daemon.running(nil, folder, flags) { daemon in
      let gateway = "http://" + (try await daemon.gateway())
      let port = try #require(Int(gateway.split(separator: ":").last ?? ""))
      #expect(try await daemon.get("/big", at: gateway).bytes.count == Self.size)
      let before = try daemon.proportionalBytes()
      do {
        let clients = try (0..<(control == "no-store" ? 20 : Self.clients)).map { _ in
          try RawClient(port: port, receiveBuffer: 4 << 10)
        }
        for client in clients { client.send("GET /big HTTP/1.1\r\nHost: h\r\n\r\n") }
        for client in clients { _ = try await client.read(until: "\r\n\r\nA") }
        for _ in 1...20 { #expect(try await daemon.get("/small", at: gateway).text == "small") }
        let grown = try daemon.proportionalBytes() - before
        #expect(grown < 128 << 20, "\(clients.count) clients took \(grown >> 20) MiB")
      }
      try await daemon.until("the memory has gone back") {
        try daemon.proportionalBytes() - before < 32 << 20
      }
    }
  }
}
