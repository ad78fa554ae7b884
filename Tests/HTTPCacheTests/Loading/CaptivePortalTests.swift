import HTTPTransport
import HTTPTypes
import PageTesting
import TestSupport
import Testing

@testable import HTTPCache

/// A network that answers everything with its login page, and a 200.
struct CaptivePortalTests {
  private static let portal = "<!doctype html><title>Log in</title>"
  private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1]

  private static func serve(_ fixture: ResourceFixture, _ path: String, _ bytes: [UInt8], _ type: String) {
    fixture.origin.serve(path, bytes, contentType: type)
  }

  @Test(
    "a login page is given to who asked, and what is stored stays",
    arguments: [
      (#"{"a": 1}"#, "application/json", ResourceType.fetch), (#"{"a": 1}"#, "text/html", .fetch),
      ("wOF2 font", "font/woff2", .font),
    ])
  func theStoredAnswerStays(_ text: String, _ type: String, _ resource: ResourceType) async throws {
    try await ResourceFixture.running { (fixture: ResourceFixture) async throws in
      Self.serve(fixture, "/a", Array(text.utf8), type)
      #expect(try await fixture.load("/a", .networkFirst(), type: resource).text == text)
      fixture.origin.always("/a", .html(Self.portal))
      for _ in 0..<2 {
        #expect(try await fixture.load("/a", .networkOnly, type: resource).text == Self.portal)
        try await fixture.waitUntilIdle()
        #expect(try await fixture.stored("/a") == text)
      }
      fixture.origin.always("/a", .normal)
      Self.serve(fixture, "/a", Array((text + " ").utf8), type)
      #expect(try await fixture.load("/a", .networkOnly, type: resource).text == text + " ")
      try await fixture.waitUntilIdle()
      #expect(try await fixture.stored("/a") == text + " ")
    }
  }

  @Test("a login page does not take the place of a picture, compressed or not", arguments: [false, true])
  func aPictureStays(_ isCompressed: Bool) async throws {
    try await ResourceFixture.running { (fixture: ResourceFixture) async throws in
      Self.serve(fixture, "/a.png", Self.png, "image/png")
      try await fixture.load("/a.png", .networkFirst(), type: .image)
      if isCompressed {
        fixture.origin.always(
          "/a.png", .encoded("gzip", try #require(Array(Self.portal.utf8).gzipped())))
      } else {
        fixture.origin.always("/a.png", .html(Self.portal))
      }
      #expect(try await fixture.load("/a.png", .networkOnly, type: .image).text == Self.portal)
      try await fixture.waitUntilIdle()
      #expect(try await fixture.load("/a.png", .cacheOnly, type: .image).bytes == Self.png)
    }
  }

  @Test("a document may become another document, and JSON that is sent as HTML stays up to date")
  func whatIsOfTheSameKindIsReplaced() async throws {
    try await ResourceFixture.running { (fixture: ResourceFixture) async throws in
      for text in ["<html>1", "<html>2", #"{"a": 1}"#, #"{"a": 2}"#] {
        Self.serve(fixture, "/a", Array(text.utf8), "text/html")
        try await fixture.load("/a", .networkOnly, fields: [.accept: "*/*"])
        try await fixture.waitUntilIdle()
        #expect(try await fixture.stored("/a") == text)
      }
    }
  }

  @Test("under cacheThenNetwork a login page comes after what is stored, and is not stored")
  func updates() async throws {
    try await ResourceFixture.running { (fixture: ResourceFixture) async throws in
      Self.serve(fixture, "/a", Array("[1]".utf8), "application/json")
      try await fixture.load("/a", .networkFirst())
      fixture.origin.always("/a", .html(Self.portal))
      for _ in 0..<2 {
        let updates = try await fixture.updates(fixture.request("/a", .cacheThenNetwork))
        #expect(updates == ["cached: [1]", "network: \(Self.portal)"])
      }
    }
  }
}
