import Foundation
import PageKit
import PageTesting
import TestServers
import Testing

@testable import RenderHost

/// The removal of the store's folder while a daemon serves from it.
struct StoreRemovalTests {
  private static func text(_ number: Int) -> String { "// bundle \(number)\n" }

  @Test("a removed store is created again, and the daemon is not ready until then")
  func removedStore() async throws {
    let folder = try TemporaryDirectory()
    for number in 0..<8 { try DaemonTests.write(Self.text(number), to: folder.file("bundles/b\(number).js")) }
    try await Daemon.running(folder.file("bundles"), folder) { daemon in
      for round in 0..<2 {
        // The folder is removed at once, also while the daemon is writing to it.
        try FileManager.default.moveItem(atPath: folder.file("served"), toPath: folder.file("gone-\(round)"))
        try await daemon.until("it is ready again") {
          let isReady = try await daemon.get("/readyz").status == 200
          var served: [String] = []
          for number in 0..<8 where isReady { served.append(try await daemon.get("/bundles/b\(number).js").text) }
          // A daemon that reports that it is ready is ready.
          #expect(!isReady || served == (0..<8).map(Self.text))
          return isReady
        }
        #expect(FileManager.default.fileExists(atPath: folder.file("served/store.sqlite")))
      }
      let log = try String(contentsOfFile: folder.file("log"), encoding: .utf8)
      #expect(log.components(separatedBy: "was removed or replaced while it was in use").count == 3, "\(log)")
    }
  }

  @Test("a removed store is filled again from the upstream")
  func upstream() async throws {
    try await FaultOrigin.running { origin in
      let folder = try TemporaryDirectory()
      var entries: [Manifest.Entry] = []
      for number in 0..<8 {
        let bytes = Array(Self.text(number).utf8)
        origin.serve("/b\(number).js", bytes)
        entries.append(.init(name: "b\(number)", path: "b\(number).js", md5: try ContentDigests(of: bytes).md5))
      }
      let manifest = Manifest(release: "r1", sequence: 1, base: ".", bundles: entries)
      origin.serve("/manifest.json", Array(try JSONEncoder().encode(manifest)), etag: "\"1\"")
      try await Daemon.running(nil, folder, ["--manifest", origin.url(for: "/manifest.json")]) { daemon in
        // While the server is unavailable, the store cannot be filled.
        try await origin.refuseConnections()
        try FileManager.default.removeItem(atPath: folder.file("served"))
        for _ in 0..<3 {
          let ready = try await daemon.get("/readyz")
          #expect(ready.status == 503 && ready.text.contains("the store was removed"), "\(ready.text)")
        }
        try await origin.acceptConnections()
        daemon.program.send(SIGHUP)
        try await daemon.until("all are served again") {
          for number in 0..<8 {
            guard try await daemon.get("/bundles/b\(number).js").text == Self.text(number) else { return false }
          }
          return try await daemon.get("/readyz").status == 200
        }
      }
    }
  }
}
