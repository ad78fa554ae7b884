import HTTPTypes
import PageTesting
import TestSupport
import Testing

@testable import Bundles
@testable import HTTPTransport

struct ResumeTests {
  private static let text = "var text = '" + String(repeating: "0123456789", count: 20_000) + "';"
  private static let path = "/b/home.js"

  /// Leaves a partial file of about 50 KB, as a killed process would.
  private static func interrupt(_ fixture: LoadingFixture, _ text: String = text, etag: String? = "\"v1\"") async throws
  {
    fixture.origin.serve(path, Array(text.utf8), contentType: "text/javascript", etag: etag)
    fixture.origin.script(path, [.resetAfter(bytes: 60_000)])
    await #expect(throws: BundleError.self) {
      try await fixture.fetcher(attempts: 1).fetch(try fixture.target("home", text))
    }
    #expect(!fixture.leftovers.isEmpty)
  }

  private static func finish(_ fixture: LoadingFixture, _ text: String = text) async throws -> BundleFetcher.Fetched {
    let fetched = try await fixture.fetcher(attempts: 2).fetch(try fixture.target("home", text))
    #expect(fetched.digests == (try ContentDigests(of: Array(text.utf8))))
    fetched.download.close()
    return fetched
  }

  @Test("a download continues where it ended")
  func resuming() async throws {
    try await LoadingFixture.running { fixture in
      try await Self.interrupt(fixture)
      let fetched = try await Self.finish(fixture)
      #expect(fetched.wasResumed)
      let request = try #require(fixture.origin.requests.last)
      #expect(request.headers[.range]?.hasPrefix("bytes=") == true)
      #expect(request.headers[.ifRange] == "\"v1\"")
      #expect(fixture.origin.bytesSent(path: Self.path) < Self.text.utf8.count * 3 / 2)
    }
  }

  @Test("a download continues within one call, too")
  func resumingInOneCall() async throws {
    try await LoadingFixture.running { fixture in
      fixture.origin.serve(Self.path, Array(Self.text.utf8), etag: "\"v1\"")
      fixture.origin.script(Self.path, [.resetAfter(bytes: 60_000), .resetAfter(bytes: 60_000)])
      let fetched = try await fixture.fetcher(attempts: 3).fetch(try fixture.target("home", Self.text))
      fetched.download.close()
      #expect(fetched.wasResumed)
      #expect(fixture.origin.requests.count == 3)
    }
  }

  @Test("a changed bundle is sent whole and accepted")
  func changedBundle() async throws {
    try await LoadingFixture.running { fixture in
      try await Self.interrupt(fixture)
      fixture.origin.serve(Self.path, Array(Self.text.utf8), etag: "\"v2\"")
      #expect(try await Self.finish(fixture).wasResumed == false)
    }
  }

  @Test(
    "a server that handles ranges wrongly does no harm",
    arguments: [Fault.ignoreRange, .wrongRange, .wrongETagOn206, .status(416)])
  func wrongRanges(_ fault: Fault) async throws {
    try await LoadingFixture.running { fixture in
      try await Self.interrupt(fixture)
      fixture.origin.script(Self.path, [fault])
      #expect(try await Self.finish(fixture).wasResumed == false)
    }
  }

  @Test("a damaged part is fetched again")
  func damagedPart() async throws {
    try await LoadingFixture.running { fixture in
      try await Self.interrupt(fixture)
      let name = try #require(fixture.leftovers.first { !$0.contains(".") })
      try Files.flipFirstByte(fixture.folder.file("store/partial/\(name)"))
      #expect(try await Self.finish(fixture).wasResumed == false)
    }
  }

  @Test func aPartThatIsCompleteNeedsNoRequest() async throws {
    try await LoadingFixture.running { fixture in
      let target = try fixture.target("home", Self.text)
      fixture.origin.serve(Self.path, Array(Self.text.utf8), etag: "\"v1\"")
      // As if the process was killed between the last byte and the commit.
      try await fixture.fetcher().fetch(target).download.close()
      let fetched = try await fixture.fetcher().fetch(target)
      fetched.download.close()
      #expect(fetched.wasResumed)
      #expect(fixture.origin.requests.count == 1)
    }
  }

  @Test("an encoded download continues, too")
  func encodedDownload() async throws {
    try await LoadingFixture.running { fixture in
      let text = SeededText.make(bytes: 200_000)
      let wire = try Gzip.encode(text)
      // Like a server with precompressed files: ranges count encoded bytes.
      fixture.origin.serve(Self.path, wire, etag: "\"z1\"", headers: [.contentEncoding: "gzip"])
      fixture.origin.script(Self.path, [.resetAfter(bytes: 50_000)])
      await #expect(throws: BundleError.self) {
        try await fixture.fetcher(attempts: 1).fetch(try fixture.target("home", text))
      }
      let fetched = try await Self.finish(fixture, text)
      #expect(fetched.wasResumed)
      #expect(fixture.origin.bytesSent(path: Self.path) < wire.count * 3 / 2)
    }
  }
}
