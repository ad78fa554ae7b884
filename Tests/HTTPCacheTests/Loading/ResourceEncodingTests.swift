import Foundation
import HTTPTypes
import PageTesting
import Synchronization
import Testing

@testable import HTTPCache
@testable import HTTPTransport

struct ResourceEncodingTests {
  /// Encoded with the reference tools: `gzip -9 -n`, `brotli -q 11`, `zstd -19`.
  static let samples = [
    (
      "gzip",
      """
      H4sIAAAAAAACA5XSzQrCMAzA8btPEXreYenSdp34AD6DeBijyMB9sBYUxHd3txYjQq4p/AjpPzzXZUswLHNMMKYw1XCCF8z9FDpQ530A
      tapg3cZhH3hfQepvsYOLmsNjf1Cxvwd1hffxEL4pZBRmCmsrsTSzdGFpJ7EaZjWFZbXEImZRtjSixDLMMoXlSGJZZtlsNUa0l2OWyxaR
      6F4ts9psGRL9o2eWz5a1or6Qd49F+E5Y/o/0i/Y9/dvtA1CujQOTAwAA
      """
    ),
    (
      "br",
      """
      G5ID0CwKbBulN9LiIYdXJH6YtblplZ8b/t7333daG0MiyBaFhqh3epLmtAhLl5sEUaDLsLI36N+d6+2+f2rPLPfWPJMwAIsx4CiVZVvx
      +TE80/EzV7rug5O+7bWhbiQmFb83EZvlnM3OvSTa3Sk/BQ7gGNi4UNrEPTO3mbhCYwJ4YWlzdYPFcoE7PKYqXlFjRd0DETOzPdgClvOI
      AsBoqAE=
      """
    ),
    (
      "zstd",
      """
      KLUv/QRo1QQAIggaGIBPB+zamOHyxWmImxMh4yTSbl9mLyxTGKucmczQ5XN3maEOBPFUIcxB2FU4DJlP9a0gwPfeuswEjOxK62ep2oNm
      ddSSF1WzxAfML5pxqOlBc4c6Iu1FQ0t07Mcd1NF5rCKJeaSk6eoiqBGQot7/O9A71xE8kAmXxTvx9wEDNToi78sMiyKnByWaLZU0u7K8
      p6O5OIxUA4KIKrQ=
      """
    ),
  ]
  static let content = (0..<12).map { number in
    #"export const item\#(number) = { name: "Item \#(number)", price: \#(number * number * 7 + 99), tags: ["new", "sale"] };"#
      + "\n"
  }.joined()

  private func bytes(_ base64: String) throws -> [UInt8] {
    Array(try #require(Data(base64Encoded: base64, options: .ignoreUnknownCharacters)))
  }

  private func serve(_ fixture: ResourceFixture, _ coding: String, _ bytes: [UInt8]) {
    fixture.origin.serve(
      "/a", bytes, contentType: "text/plain", etag: "\"1\"",
      headers: [.contentEncoding: coding, .cacheControl: "max-age=60", .vary: "Accept-Encoding"])
  }

  @Test func whatIsDamagedInsideItsEncodingDoesNotTakeTheGoodOnesPlace() async throws {
    let encoded = try bytes(Self.samples[0].1)
    try await ResourceFixture.running { fixture in
      fixture.origin.serve("/a", encoded, etag: "\"1\"", headers: [.contentEncoding: "gzip"])
      try await fixture.load("/a")
      fixture.origin.serve("/a", encoded.dropLast(20), etag: "\"2\"", headers: [.contentEncoding: "gzip"])
      await #expect(throws: ContentError.self) { try await fixture.load("/a", .networkOnly) }
      #expect(try await fixture.load("/a", .cacheOnly).text == Self.content)
    }
  }

  @Test func theBodyOfAGetIsTheServersAloneToUnderstand() async throws {
    try await ResourceFixture.running { fixture in
      fixture.origin.respond("/q") { request in
        OriginResponse(headers: [.cacheControl: "max-age=60"], body: Array("answer to \(request.text)".utf8))
      }
      for query in ["A", "B"] {
        let request = ResourceRequest(try fixture.url("/q").text, body: Array(query.utf8))
        let loaded = try await fixture.loader.response(for: request)
        #expect(String(decoding: try await loaded.body.collect(), as: UTF8.self) == "answer to \(query)")
      }
    }
  }

  @Test(arguments: samples)
  func encodedBodiesAreStoredEncodedAndGivenDecoded(_ coding: String, _ base64: String) async throws {
    let encoded = try bytes(base64)
    try await ResourceFixture.running { fixture in
      serve(fixture, coding, encoded)
      #expect(try await fixture.load("/a").text == Self.content)
      #expect(fixture.origin.requests.last?.headers[.acceptEncoding] == "zstd, br, gzip")
      let again = try await fixture.load("/a")
      #expect((again.text, again.source.isCache) == (Self.content, true))
      var raw = fixture.request("/a")
      raw.keepsContentEncoding = true
      let kept = try await fixture.load(raw)
      #expect((kept.bytes, kept.fields[.contentEncoding]) == (encoded, coding))
      #expect(try await fixture.store.list().map(\.head.extent.count) == [Int64(encoded.count)])
      fixture.time.advance(100)
      let confirmed = try await fixture.load("/a")
      #expect((confirmed.text, confirmed.source) == (Self.content, .revalidated))
      #expect(fixture.origin.requests.count == 2)
    }
  }

  @Test func severalReadersOfOneTransferEachGetTheContentOrTheBytes() async throws {
    let encoded = try bytes(Self.samples[0].1)
    try await ResourceFixture.running { fixture in
      serve(fixture, "gzip", encoded)
      fixture.origin.hold("/a")
      let request = fixture.request("/a")
      var raw = request
      raw.keepsContentEncoding = true
      let wanted = [request, raw, request]
      let tasks = wanted.map { request in Task { try await fixture.load(request).bytes } }
      try await fixture.waitForPassengers(3, request)
      fixture.origin.release("/a")
      #expect(try await tasks[0].value == Array(Self.content.utf8))
      #expect(try await tasks[1].value == encoded)
      #expect(try await tasks[2].value == Array(Self.content.utf8))
    }
  }

  @Test func unknownEncodingsAreGivenAsTheyAre() async throws {
    try await ResourceFixture.running { fixture in
      serve(fixture, "rot13", Array("uryyb".utf8))
      #expect(try await fixture.load("/a").text == "uryyb")
      let again = try await fixture.load("/a")
      #expect((again.text, again.fields[.contentEncoding]) == ("uryyb", "rot13"))
    }
  }

  @Test func damagedBodiesFail() async throws {
    let encoded = try bytes(Self.samples[0].1)
    try await ResourceFixture.running { fixture in
      serve(fixture, "gzip", Array(encoded.dropLast(9)))
      await #expect(throws: ContentError.self) { try await fixture.load("/a") }
    }
  }

  @Test func whatHasNoBodyIsNotDecoded() async throws {
    let encoded = try bytes(Self.samples[0].1)
    try await ResourceFixture.running { fixture in
      serve(fixture, "gzip", encoded)
      let head = try await fixture.load("/a", method: .head)
      #expect((head.bytes, head.fields[.contentEncoding]) == ([], "gzip"))
      fixture.origin.respond("/none") { _ in
        OriginResponse(status: .noContent, headers: [.contentEncoding: "gzip"])
      }
      #expect(try await fixture.load("/none").bytes == [])
      fixture.origin.always("/same", .always304)
      fixture.origin.serve("/same", encoded, headers: [.contentLanguage: "de"])
      #expect(try await fixture.load("/same", fields: [.ifNoneMatch: "\"1\""]).status == 304)
    }
  }

  @Test func bodiesAreSentCompressedWhereThatIsWanted() async throws {
    try await ResourceFixture.running { fixture in
      fixture.origin.respond("/a") { _ in OriginResponse() }
      var request = fixture.request("/a", method: .post, body: Self.content)
      request.compressesBody = true
      try await fixture.load(request)
      let sent = try #require(fixture.origin.requests.last)
      #expect(sent.headers[.contentEncoding] == "gzip")
      #expect(sent.bodySize < Self.content.utf8.count / 2)
      serve(fixture, "gzip", sent.body)
      #expect(try await fixture.load("/a").text == Self.content)
    }
  }

  @Test func partsOfEncodedBodiesAreNotDecoded() async throws {
    let encoded = try bytes(Self.samples[0].1)
    try await ResourceFixture.running { fixture in
      serve(fixture, "gzip", encoded)
      let part = try await fixture.load("/a", fields: [.range: "bytes=2-9"])
      #expect((part.status, part.bytes) == (206, Array(encoded[2...9])))
      #expect(fixture.origin.requests.last?.headers[.acceptEncoding] == "identity")
    }
  }

  /// Fails if two callers are in it at the same time; the first one waits for another for a moment.
  private final class LonelyStream: DecodingStream {
    private let callers = Atomic(0)
    private let second = DispatchSemaphore(value: 0)
    private let overlap = Atomic(false)
    var hasOverlapped: Bool { overlap.load(ordering: .sequentiallyConsistent) }

    let isAtEnd = true

    func decode(_ input: UnsafeRawBufferPointer, emit: (UnsafeRawBufferPointer) throws -> Void) throws {
      defer { callers.subtract(1, ordering: .sequentiallyConsistent) }
      if callers.add(1, ordering: .sequentiallyConsistent).newValue > 1 {
        overlap.store(true, ordering: .sequentiallyConsistent)
        second.signal()
      } else {
        _ = second.wait(timeout: .now() + 0.1)
      }
      try emit(input)
    }
  }

  @Test("two readers of a body that is decoded wait for each other, and each piece goes to one of them")
  func twoReaders() async throws {
    let left = Mutex(Array(1...6 as ClosedRange<UInt8>))
    let source = Body(next: { left.withLock { $0.isEmpty ? nil : [$0.removeFirst()] } })
    let stream = LonelyStream()
    let content = DecodedBody(source.reader(), ContentDecoder(stream, coding: "", url: "", limit: 100))
    let body = Body(next: { try await content.next() })
    async let first = body.collect()
    async let second = body.collect()
    #expect(try await (first + second).sorted() == Array(1...6))
    #expect(!stream.hasOverlapped)
  }
}
