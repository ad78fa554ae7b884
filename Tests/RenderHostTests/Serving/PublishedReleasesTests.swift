import CurlTransport
import Foundation
import Logging
import PageKit
import PageTesting
import Publishing
import ServerKit
import TestServers
import TestSupport
import Testing

@testable import RenderHost

/// Daemons that follow the releases in an object store.
@Suite(.timeLimit(.minutes(5)))
struct PublishedReleasesTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  private func publish(_ text: String, _ release: String, to bucket: TestBucket) async throws {
    let file = folder.file("site/home.js")
    try FileManager.default.createDirectory(atPath: folder.file("site"), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    let location = try #require(S3Location("s3://bucket/app"))
    let access = try S3Access(environment: bucket.environment)
    var options = FolderPublication.Options()
    options.release = release
    let transport = try CurlTransport()
    let releases = PublishedReleases(try S3Store(location, access: access, transport: transport))
    _ = try await FolderPublication(folder.file("site"), to: releases, options: options).publish()
  }

  private func running(
    _ bucket: TestBucket, _ place: String = "a", _ body: (Daemon) async throws -> Void
  ) async throws {
    let variables = bucket.environment.map { "export \($0.key)='\($0.value)'" }.joined(separator: "; ")
    let own = try TemporaryDirectory()
    try await Daemon.running(
      nil, own, ["--releases", "s3://bucket/app", "--follow", "1", "--workers", "1"], shell: variables, body)
  }

  @Test("hosts serve what was published, switch when the pointer is switched, and go on while the store is away")
  func following() async throws {
    try await FaultOrigin.running { (origin: FaultOrigin) async throws in
      let bucket = TestBucket(on: origin)
      try await publish("// one", "r1", to: bucket)
      try await running(bucket) { (daemon: Daemon) async throws in
        #expect(try await daemon.get("/bundles/home.js").text == "// one")
        let manifest = try Manifest(reading: try await daemon.get("/manifest.json").bytes)
        #expect(manifest.release == "r1" && manifest.blobs == nil && manifest.bundles.first?.blob == nil)
        try await publish("// two", "r2", to: bucket)
        try await eventually("the second release") { try await daemon.get("/bundles/home.js").text == "// two" }
        // Only reading is signed, and nothing was written by the host.
        try await origin.refuseConnections()
        #expect(try await daemon.get("/bundles/home.js").text == "// two")
        #expect(try await daemon.get("/readyz").status == 200)
      }
    }
  }

  @Test("the host's key signs its own requests, and none of a page's, also for what the host itself reads")
  func requestsOfPages() async throws {
    try await FaultOrigin.running { (origin: FaultOrigin) async throws in
      let bucket = TestBucket(on: origin)
      try await publish("// one", "r1", to: bucket)
      bucket["app/private.txt"] = [1]
      var settings = Settings()
      settings.store = StoreDirectory(folder.file("store"))
      settings.releases = S3Location("s3://bucket/app")
      settings.allowedOrigins = [origin.url(for: "")]
      try settings.locateReleases(bucket.environment)
      let parts = try #require(
        try PageParts(
          settings, record: HostRecord(), executable: Daemon.executable, logger: Logger(label: "test")))
      #expect(await parts.host.preload().report().activated)
      for path in ["current.json", "private.txt", "current.json?acl", "..%2Fapp/private.txt"] {
        let request = ResourceRequest(origin.url(for: "/bucket/app/\(path)"))
        let resource = try await parts.host.resources.response(for: request)
        #expect(resource.response.status.code == 403, "\(path)")
      }
      // A client may name any URL as a bundle's.
      let draft = try #require(PageURL(origin.url(for: "/bucket/app/private.txt")))
      let error = await #expect(throws: (any Error).self) { try await parts.host.bundles.load(draft) }
      #expect("\(String(describing: error))".contains("403"), "\(String(describing: error))")
      await parts.host.shutDown()
    }
  }

  @Test(
    "settings that cannot be are named",
    arguments: [
      (["--releases", "bucket"], "a place such as s3://bucket/prefix"),
      (["--releases", "s3://bucket", "--bundles", "/"], "--releases excludes --bundles and --manifest"),
    ])
  func settings(_ flags: [String], _ message: String) async throws {
    let result = try await Tool.start(Daemon.executable, flags + ["--check-config"]).result(within: .seconds(120))
    #expect(result.status == 1 && result.error.contains(message), "\(result.error)")
  }
}
