import Blobs
import Foundation
import HTTPTypes
import PageTesting
import Synchronization
import TestSupport
import Testing

@testable import Bundles
@testable import HTTPTransport

/// Invalid input causes an error with a reason, and is not stored.
struct BundleFetcherTests {
  private static let text = "var page = 'a page worth keeping';"
  private static let path = "/b/home.js"

  /// The error of fetching as text; `nil` if it succeeds. Only files that a retry can use may remain.
  private static func complaint(_ fault: Fault, attempts: Int = 3, fileLimit: Int64 = 10 << 20) async throws -> String?
  {
    try await LoadingFixture.running { fixture in
      fixture.origin.serve(path, Array(text.utf8), contentType: "text/javascript", etag: "\"v1\"")
      fixture.origin.always(path, fault)
      let limits = TransferLimits(lowSpeedBytesPerSecond: 1000, lowSpeedTime: .seconds(1))
      let fetcher = try fixture.fetcher(attempts: attempts, fileLimit: fileLimit, limits: limits)
      do {
        let fetched = try await fetcher.fetch(try fixture.target("home", text))
        fetched.download.close()
        return nil
      } catch {
        #expect(try await fixture.store.usage().blobs == 0)
        #expect("\(error)".contains("home"), "\(error)")
        #expect("\(error)".contains(fixture.origin.url(for: path)), "\(error)")
        #expect(!"\(error)".contains("\n"))
        return "\(error)"
      }
    }
  }

  @Test("bytes with a wrong digest are fetched once more past all caches, and then refused")
  func wrongBytes() async throws {
    let complaint = try await Self.complaint(.corrupt(byteAt: 5))
    #expect(complaint?.contains("the server says MD5") == true)
    #expect(complaint?.contains("2 tries") == true)
  }

  @Test("the second attempt bypasses a stale cache")
  func staleCache() async throws {
    try await LoadingFixture.running { fixture in
      fixture.origin.serve(Self.path, Array(Self.text.utf8))
      fixture.origin.script(Self.path, [.replace(Array("var old;".utf8))])
      let fetched = try await fixture.fetcher().fetch(try fixture.target("home", Self.text))
      fetched.download.close()
      #expect(fixture.origin.requests.map { $0.headers[.cacheControl] } == [nil, "no-cache"])
    }
  }

  /// Stalls first, and then uses another transport.
  private struct StallingTransport: HTTPTransporting {
    let base: any HTTPTransporting
    let asked = Recorder<Bool>()

    func send(_ request: TransportRequest) async throws -> TransportResponse {
      asked.append(request.needsFreshConnection)
      guard asked.all.count > 1 else {
        throw TransportError.tooSlow(url: request.url, bytesPerSecond: 1, over: .seconds(15))
      }
      return try await base.send(request)
    }
  }

  @Test("after a stall the next attempt uses a new connection")
  func stalledConnection() async throws {
    try await LoadingFixture.running { fixture in
      fixture.origin.serve(Self.path, Array(Self.text.utf8))
      let transport = StallingTransport(base: fixture.transport)
      let fetcher = BundleFetcher(
        client: OriginClient(transport), store: fixture.store, sleep: { _ in })
      let fetched = try await fetcher.fetch(try fixture.target("home", Self.text))
      fetched.download.close()
      #expect(transport.asked.all == [false, true])
    }
  }

  @Test("HTML is refused as a script")
  func html() async throws {
    let complaint = try await Self.complaint(.html("<!DOCTYPE html><p>We are sorry"))
    #expect(complaint?.contains("the answer is HTML, not a script (text/html") == true)
  }

  @Test("an empty response is refused as empty")
  func emptyResponse() async throws {
    #expect(try await Self.complaint(.empty)?.contains("the answer is empty") == true)
  }

  @Test("bytes that are not UTF-8 are refused as such")
  func notUTF8() async throws {
    #expect(try await Self.complaint(.replace([0x61, 0xFF, 0xFE]))?.contains("not UTF-8") == true)
  }

  @Test func aBodyLargerThanTheManifestSaysIsNotReadToItsEnd() async throws {
    let complaint = try await Self.complaint(.replace(Array(repeating: 0x20, count: 5 << 20) + [0x61]))
    #expect(complaint?.contains("the server says \(Self.text.utf8.count) bytes, the download has more") == true)
  }

  @Test func aBodyOverTheLimitIsRefused() async throws {
    try await LoadingFixture.running { fixture in
      fixture.origin.serve(Self.path, Array(repeating: 0x20, count: 100_000))
      let target = FetchTarget(
        kind: .bundle, name: "home", url: try fixture.url(Self.path), expected: ExpectedContent(md5: nil))
      await #expect {
        try await fixture.fetcher(fileLimit: 1000).fetch(target)
      } throws: { error in
        "\(error)".contains("limit of 1000")
      }
    }
  }

  @Test(
    "a failure that may pass is tried again, what was not asked for once, past all caches, and others are final",
    arguments: [
      (Fault.closeBeforeHead, "the connection ended", "3 tries"), (.resetBeforeHead, "the connection ended", "3 tries"),
      (.cutChunked(after: 10), "the connection ended", "3 tries"), (.status(503), "503", "3 tries"),
      (.status(429), "429", "3 tries"), (.status(404), "404", "1 try"), (.status(403), "403", "1 try"),
      (.redirect(to: "/b/home.js"), "circle", "1 try"), (.garbage, "not valid HTTP", "1 try"),
      (.status(204), "204", "1 try"), (.status(206), "206, which was not asked for", "2 tries"),
      (.always304, "304, which was not asked for", "2 tries"), (.encoded("dcb", [1]), "dcb", "2 tries"),
      (.encoded("dcz", [1]), "dcz", "2 tries"),
    ])
  func failures(_ fault: Fault, _ reason: String, _ tries: String) async throws {
    let complaint = try await Self.complaint(fault)
    #expect(complaint?.contains(reason) == true, "\(complaint ?? "no error")")
    #expect(complaint?.contains(tries) == true, "\(complaint ?? "no error")")
  }

  @Test(
    "the whole content that follows an answer which was not asked for is taken",
    arguments: [Fault.status(206), .always304, .encoded("dcb", [1])])
  func wholeAfterwards(_ fault: Fault) async throws {
    try await LoadingFixture.running { fixture in
      fixture.origin.serve(Self.path, Array(Self.text.utf8))
      fixture.origin.script(Self.path, [fault])
      let fetched = try await fixture.fetcher(attempts: 1).fetch(try fixture.target("home", Self.text))
      fetched.download.close()
      #expect(fixture.origin.requests.map { $0.headers[.cacheControl] } == [nil, "no-cache"])
    }
  }

  @Test("after a part that does not fit, and at every way to ask, a server without end gets few requests")
  func boundedRequests() async throws {
    try await LoadingFixture.running { fixture in
      fixture.origin.serve(Self.path, Array(Self.text.utf8), etag: "\"v1\"")
      fixture.origin.script(Self.path, [.resetAfter(bytes: 10)])
      let release = try await fixture.registered(["home": Self.text])
      fixture.origin.serve(Self.path, Array(Self.text.utf8), etag: "\"v1\"")
      let target = try fixture.target("home", Self.text)
      await #expect(throws: BundleError.self) {
        try await fixture.downloader(attempts: 1).download(target, for: release)
      }
      let before = fixture.origin.requests.count
      // A host that asks on and on gets the content in the end.
      fixture.origin.script(Self.path, Array(repeating: .status(206), count: 50))
      await #expect(throws: BundleError.self) { try await fixture.downloader().download(target, for: release) }
      #expect(fixture.origin.requests.count - before <= 3, "\(fixture.origin.requests.count - before) requests")
    }
  }

  @Test("each way to ask is followed by later ones only")
  func ways() {
    for mode in BundleFetcher.Mode.allCases {
      for kind in BundleFetcher.Setback.Kind.allCases {
        guard let next = mode.next(after: kind) else { continue }
        #expect(next.rawValue > mode.rawValue, "\(mode) after \(kind)")
      }
    }
    #expect(BundleFetcher.Mode.pastCaches.next(after: .otherBytes) == nil)
    #expect(BundleFetcher.Mode.normal.next(after: .otherBytes) == .pastCaches)
    #expect(BundleFetcher.Mode.offering.next(after: .notAskedFor) == .whole)
  }

  // MARK: Local files

  private static func local(_ path: String, of text: String = text) throws -> FetchTarget {
    let digests = try ContentDigests(of: Array(text.utf8))
    return FetchTarget(
      kind: .bundle, name: "home", url: try #require(PageURL(filePath: path)),
      expected: ExpectedContent(md5: digests.md5, sha256: digests.sha256))
  }

  @Test("a FIFO, a device or a folder in the place of a local file is refused at once", .timeLimit(.minutes(1)))
  func irregularFiles() async throws {
    try await LoadingFixture.running { fixture in
      let fifo = fixture.folder.file("fifo")
      #expect(mkfifo(fifo, 0o600) == 0)
      for path in [fifo, "/dev/zero", fixture.folder.path] {
        await #expect {
          try await fixture.fetcher().fetch(try Self.local(path))
        } throws: { error in
          "\(error)".hasPrefix("bundle \"home\": \(path)") && "\(error)".hasSuffix("it is not a regular file")
        }
      }
      #expect(fixture.leftovers.isEmpty)
    }
  }

  @Test("a folder that is opened as a file has its descriptor closed once")
  func closedOnce() {
    let isOver = Flag()
    let hasEnded = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      while !isOver.value.load(ordering: .relaxed) { _ = try? RegularFile("/") }
      hasEnded.signal()
    }
    // Closed a second time, a number may already be the descriptor of another thread.
    var lost = 0
    for _ in 0..<20_000 {
      let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
      for _ in 0..<20 where fcntl(descriptor, F_GETFD) == -1 {
        lost += 1
        break
      }
      _ = close(descriptor)
    }
    isOver.value.store(true, ordering: .relaxed)
    hasEnded.wait()
    #expect(lost == 0)
  }

  private final class Flag: Sendable {
    let value = Atomic(false)
  }

  @Test("an error does not tell the digests of a local file")
  func localDigests() async throws {
    try await LoadingFixture.running { fixture in
      let file = fixture.folder.file("secret.js")
      try Data("var secret".utf8).write(to: URL(fileURLWithPath: file))
      let found = try ContentDigests(of: Array("var secret".utf8))
      await #expect {
        try await fixture.fetcher().fetch(try Self.local(file))
      } throws: { error in
        let text = "\(error)"
        return text.contains("the file has other bytes") && !text.contains(found.md5.hex)
          && !text.contains(found.sha256.hex)
      }
    }
  }

  @Test("a transfer below the lowest speed is given up")
  func slowTransfer() async throws {
    let complaint = try await Self.complaint(.drip(bytesPerSecond: 1), attempts: 1)
    #expect(complaint?.contains("slower than 1000 bytes a second for 1 s") == true, "\(complaint ?? "no error")")
  }

  @Test(
    "the right bytes are accepted however the server sends them",
    arguments: [
      Fault.normal, .chunked, .closeDelimited(), .informational(103), .delay(.milliseconds(20)), .trailers([:]),
      .ignoreRange, .contentLengthTooLong(by: 10),
    ])
  func unusualTransfers(_ fault: Fault) async throws {
    #expect(try await Self.complaint(fault) == nil)
  }

  @Test("a body that is longer than announced is refused")
  func tooLongBody() async throws {
    let complaint = try await Self.complaint(.contentLengthTooShort(by: 5))
    #expect(complaint?.contains("the server says 34 bytes, the download has 29") == true, "\(complaint ?? "no error")")
  }

  @Test func anEncodedBodyIsDecodedAndCheckedAfterwards() async throws {
    try await LoadingFixture.running { fixture in
      let text = "var text = 'hello hello hello hello';"
      fixture.origin.serve("/b/home.js", Array(text.utf8))
      fixture.origin.always("/b/home.js", .encoded("gzip", try Gzip.encode(text)))
      let release = try await fixture.registered(["home": text])
      let delivery = try await fixture.downloader().download(try fixture.target("home", text), for: release)
      #expect(try await fixture.store.bytes(of: delivery.blob).bytes == Array(text.utf8))
      #expect(fixture.origin.requests.first?.headers[.acceptEncoding] == "zstd, br, gzip")
      #expect(fixture.leftovers == [])
    }
  }

  @Test("a truncated encoded body is refused")
  func truncatedBody() async throws {
    let whole = try Gzip.encode(Self.text)
    let complaint = try await Self.complaint(.encoded("gzip", Array(whole.dropLast(6))))
    #expect(complaint?.contains("gzip data ends too early") == true, "\(complaint ?? "no error")")
  }

  @Test("an encoding that was not requested is refused")
  func unrequestedEncoding() async throws {
    #expect(try await Self.complaint(.encoded("lzma", [1, 2, 3]))?.contains("lzma") == true)
  }

  @Test("the server's Retry-After is respected")
  func retryAfter() async throws {
    try await LoadingFixture.running { fixture in
      fixture.origin.serve(Self.path, Array(Self.text.utf8))
      fixture.origin.script(Self.path, [.status(503, retryAfter: "7"), .status(429, retryAfter: "3")])
      let fetched = try await fixture.fetcher().fetch(try fixture.target("home", Self.text))
      fetched.download.close()
      #expect(fixture.waits.all == [.seconds(7), .seconds(3)])
    }
  }
}
