import Foundation
import PageTesting
import TestServers
import TestSupport
import Testing

/// Releases of a fleet: an object store, real daemons, and real NATS servers.
@Suite(.timeLimit(.minutes(5)), .enabled(if: NATSCluster.isInstalled, "nats-server is not installed"))
struct FleetReleaseTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  private func publish(
    _ text: String, _ release: String, to bucket: TestBucket, _ cluster: NATSCluster
  ) async throws -> RunningProgram.Result {
    let site = folder.file("site")
    try FileManager.default.createDirectory(atPath: site, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(fileURLWithPath: site + "/home.js"))
    return try await bundlectl(
      ["publish", site, "s3://bucket/app", "--release", release] + cluster.urls.flatMap { ["--journal", $0] }, bucket)
  }

  private func bundlectl(_ arguments: [String], _ bucket: TestBucket) async throws -> RunningProgram.Result {
    let environment = ProcessInfo.processInfo.environment.merging(bucket.environment) { _, own in own }
    return try await RunningProgram(RunningProgram.built("bundlectl"), arguments, environment: environment).result()
  }

  private func following(
    _ name: String, _ bucket: TestBucket, _ cluster: NATSCluster, _ body: (Daemon) async throws -> Void
  ) async throws {
    let variables = bucket.environment.map { "export \($0.key)='\($0.value)'" }.joined(separator: "; ")
    let flags = [
      "--releases", "s3://bucket/app", "--follow", "3600", "--workers", "1", "--fleet-host", name,
      "--journal", cluster.urls[0],
    ]
    try await Daemon.running(nil, try TemporaryDirectory(), flags, shell: variables, body)
  }

  @Test("hosts switch when a publisher announces a release, and find out at once about one that they have missed")
  func announcements() async throws {
    try await FaultOrigin.running { (origin: FaultOrigin) async throws in
      let bucket = TestBucket(on: origin)
      try await NATSCluster.running { (cluster: NATSCluster) async throws in
        let first = try await publish("// one", "r1", to: bucket, cluster)
        #expect(first.status == 0 && first.error.isEmpty, "\(first.error)")
        try await following("a", bucket, cluster) { (daemon: Daemon) async throws in
          try await following("b", bucket, cluster) { (other: Daemon) async throws in
            for daemon in [daemon, other] { #expect(try await daemon.get("/bundles/home.js").text == "// one") }
            _ = try await publish("// two", "r2", to: bucket, cluster)
            for daemon in [daemon, other] {
              try await eventually("the second release") {
                try await daemon.get("/bundles/home.js").text == "// two"
              }
            }
            _ = try await bundlectl(
              ["releases", "use", "r1", "s3://bucket/app", "--journal", cluster.urls[0]], bucket)
            try await eventually("the first release again") {
              try await daemon.get("/bundles/home.js").text == "// one"
            }
            // A publisher that cannot tell the hosts has published even so.
            await cluster.kill(0)
            let alone = try await publish("// three", "r3", to: bucket, cluster)
            #expect(alone.status == 0 && alone.error.contains("the hosts are not told"), "\(alone.error)")
            #expect(try await daemon.get("/bundles/home.js").text == "// one")
            // They look when the journal answers again.
            try cluster.start(0)
            for daemon in [daemon, other] {
              try await eventually("the third release") {
                try await daemon.get("/bundles/home.js").text == "// three"
              }
            }
          }
        }
      }
    }
  }

  @Test("where a store does not know conditions, the pointer is kept in NATS: of two publishers one is told")
  func keptPointer() async throws {
    try await FaultOrigin.running { (origin: FaultOrigin) async throws in
      let bucket = TestBucket(on: origin)
      bucket.setConditional(false)
      try await NATSCluster.running { (cluster: NATSCluster) async throws in
        let first = try await publish("// one", "r1", to: bucket, cluster)
        #expect(first.status == 0, "\(first.error)")
        let pointer = try #require(bucket["app/current.json"])
        let second = try await publish("// two", "r2", to: bucket, cluster)
        #expect(second.output.contains("release r2 is current now, in the place of r1"), "\(second.error)")
        // What the store has is a copy: an older one is not gone by.
        bucket["app/current.json"] = pointer
        let third = try await publish("// three", "r3", to: bucket, cluster)
        #expect(third.output.contains("release r3 is current now, in the place of r2"), "\(third.error)")
        #expect(String(decoding: try #require(bucket["app/current.json"]), as: UTF8.self).contains("r3"))
        // Without the journal it is refused.
        let other = try await bundlectl(["publish", folder.file("site"), "s3://bucket/app"], bucket)
        #expect(other.status == 1 && other.error.contains("--journal keeps the pointer in NATS"), "\(other.error)")
        // While a publisher writes its contents, another one switches.
        let isDone = Monitor(false)
        bucket.beforeWrite { key in
          guard key.hasPrefix("app/blobs/"),
            isDone.change({ done in
              defer { done = true }; return !done
            })
          else { return }
          _ = try? await bundlectl(
            ["releases", "use", "r1", "s3://bucket/app", "--journal", cluster.urls[0]], bucket)
        }
        let late = try await publish("// four", "r4", to: bucket, cluster)
        #expect(late.status == 1 && late.error.contains("release r1 was published meanwhile"), "\(late.error)")
      }
    }
  }
}
