import Foundation
import HTTPTransport
import HTTPTypes
import PageTesting
import ServerKit
import TestServers
import Testing

@testable import CacheGateway

/// SIGHUP: the settings that change while the host runs.
@Suite(.timeLimit(.minutes(2)))
struct ReloadTests {
  private static let tokens = ["first-token-of-16", "second-token-of-16"]

  private static func write(_ json: String, tokens: [String], in folder: TemporaryDirectory) throws {
    try Data(json.utf8).write(to: URL(fileURLWithPath: folder.file("config.json")))
    try Data(tokens.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: folder.file("tokens")))
  }

  private static func config(_ folder: TemporaryDirectory, _ origins: String, _ more: String = "") -> String {
    #"{"gateway": "127.0.0.1:0", "admin-token-file": "\#(folder.file("tokens"))", "origins": [\#(origins)]\#(more)}"#
  }

  private static func statuses(_ daemon: Daemon) async throws -> [Int] {
    var statuses: [Int] = []
    for token in tokens {
      statuses.append(try await daemon.get("/admin/settings", ["Authorization": "Bearer \(token)"]).status)
    }
    return statuses
  }

  /// Sends SIGHUP, and waits for a text in the log.
  private static func hangUp(_ daemon: Daemon, until text: String) async throws {
    let before = daemon.said.components(separatedBy: text).count
    daemon.program.send(SIGHUP)
    try await daemon.until("the log has \(text)") { daemon.said.components(separatedBy: text).count > before }
  }

  @Test("origins, tokens and the log's level change while the host runs, all of them or nothing")
  func reload() async throws {
    let (a, b) = (try await FaultOrigin.start(), try await FaultOrigin.start())
    for (origin, text) in [(a, "of a"), (b, "of b")] {
      origin.serve("/x", Array(text.utf8), headers: [.cacheControl: "max-age=600"])
    }
    let folder = try TemporaryDirectory()
    func origin(_ origin: FaultOrigin) -> String { #"{"name": "api", "url": "\#(origin.url(for: "/"))"}"# }
    try Self.write(Self.config(folder, origin(a)), tokens: [Self.tokens[0]], in: folder)
    try await Daemon.running(nil, folder, ["--config", folder.file("config.json")]) { daemon in
      let gateway = "http://" + (try await daemon.gateway())
      // Identical heads are answered by recorded bytes from the third one on.
      for _ in 1...4 { #expect(try await daemon.get("/x", at: gateway).text == "of a") }
      #expect(try await Self.statuses(daemon) == [200, 401])

      try Self.write(
        Self.config(folder, origin(b), #", "log-level": "debug", "workers": 9"#), tokens: Self.tokens, in: folder)
      try await Self.hangUp(daemon, until: "The settings were read again: ")
      #expect(try await daemon.get("/x", at: gateway).text == "of b")
      #expect(try await Self.statuses(daemon) == [200, 200])
      for text in ["log-level: info → debug", "2 tokens are accepted", "origins changed: api"] {
        #expect(daemon.said.contains(text), "\(text)")
      }
      // A flag wins over the file, so that the number of workers is the same.
      #expect(!daemon.said.contains("--workers"))
      #expect(
        try await daemon.get("/admin/settings", ["Authorization": "Bearer \(Self.tokens[0])"]).text.contains(
          #"{"key":"log-level","source":"\#(folder.file("config.json"))","value":"debug"}"#))

      // One bad value keeps everything as it is.
      let bad = Self.config(folder, #"\#(origin(a)), {"name": "No", "url": "x"}"#)
      try Self.write(bad, tokens: [Self.tokens[1]], in: folder)
      try await Self.hangUp(daemon, until: "Nothing is changed: ")
      #expect(try await daemon.get("/x", at: gateway).text == "of b")
      #expect(try await Self.statuses(daemon) == [200, 200])

      // The first token is given up.
      try Self.write(
        Self.config(folder, origin(b), #", "max-body": "2MB""#), tokens: [Self.tokens[1]], in: folder)
      try await Self.hangUp(daemon, until: "The settings were read again: ")
      #expect(try await Self.statuses(daemon) == [401, 200])
      #expect(daemon.said.contains("another token is accepted"))
      #expect(daemon.said.contains("--max-body takes effect when the host is started again"))
    }
    try await a.stop()
    try await b.stop()
  }

  @Test("origins are told apart by what was written of them")
  func changes() throws {
    func origins(_ json: String) throws -> [OriginSettings] {
      guard case .array(let list) = try JSONValue(reading: Array(json.utf8)) else { return [] }
      return try OriginsFile.origins(in: list, path: "c.json")
    }
    let old = try origins(
      #"[{"name": "a", "url": "http://a"}, {"name": "b", "url": "http://b", "hosts": ["b"]}, {"name": "c", "url": "http://c", "hosts": ["c"]}]"#
    )
    let new = try origins(
      #"[{"url": "http://a", "name": "a"}, {"name": "c", "url": "http://c", "hosts": ["c", "d"]}, {"name": "e", "url": "http://e", "hosts": ["e"]}]"#
    )
    #expect(GatewayOrigins.Changes(from: old, to: old).isEmpty)
    let changes = GatewayOrigins.Changes(from: old, to: new)
    #expect(changes.text == "origins added: e; removed: b; changed: c")
  }
}
