import Foundation
import PageTesting
import TestSupport
import Testing

@testable import HTTPCache
@testable import HTTPTransport

struct URLRewritingTests {
  @Test func aReferenceWithoutASchemeGetsThatOfThePage() throws {
    let rewriter = SchemeRelativeRewriter()
    func rewritten(_ base: String?) -> String {
      rewriter.rewrite("//b.com/x", for: ResourceRequest("", base: base.flatMap { PageURL($0) }))
    }
    #expect(rewritten(nil) == "https://b.com/x")
    #expect(rewritten("https://a.com/") == "https://b.com/x")
    #expect(rewritten("http://a.com/") == "http://b.com/x")
    #expect(rewritten("file:///a") == "https://b.com/x")
    #expect(rewriter.rewrite("/x", for: ResourceRequest("")) == "/x")
  }

  @Test func relativeReferencesCountFromThePage() async throws {
    try await ResourceFixture.running { fixture in
      let base = try fixture.url("/pages/home.js?v=1")
      func resolved(_ reference: String) throws -> String {
        try fixture.outgoing(ResourceRequest(reference, base: base)).url.text
      }
      #expect(try resolved("a.png") == fixture.origin.url(for: "/pages/a.png"))
      #expect(try resolved("/a.png?random=1#x") == fixture.origin.url(for: "/a.png?random=1"))
      #expect(try resolved("../../a.png") == fixture.origin.url(for: "/a.png"))
      #expect(try resolved("//b.com/a.png") == "http://b.com/a.png")
      #expect(throws: LoadError.self) { try fixture.outgoing(ResourceRequest("a.png")) }
      for reference in ["javascript:1", "ftp://a.com/x", "http://", "http://u:p@a.com/", "", "about:blank"] {
        #expect(throws: LoadError.self, "\(reference)") { try fixture.outgoing(ResourceRequest(reference)) }
      }
    }
  }

  @Test func theAppsRewritersAreAskedInOrder() async throws {
    struct Suffix: URLRewriting {
      let text: String
      func rewrite(_ reference: String, for request: ResourceRequest) -> String { reference + text }
    }
    try await ResourceFixture.running { configuration, _ in
      configuration.rewriters = [Suffix(text: "1"), Suffix(text: "2")]
    } _: { fixture in
      #expect(try fixture.outgoing(fixture.request("/a")).url == fixture.url("/a12"))
      try await fixture.waitUntilIdle()
    }
  }
}

/// `local://`, and what it must not reach.
struct LocalFileTests {
  private func running(_ body: (ResourceFixture, TemporaryDirectory) async throws -> Void) async throws {
    let folder = try TemporaryDirectory()
    defer { withExtendedLifetime(folder) {} }
    try Files.write("inside", to: folder.file("app/img/a.txt"))
    try Files.write("odd", to: folder.file("app/a b?ü%.txt"))
    try Files.write("secret", to: folder.file("secret.txt"))
    try Files.write("secret", to: folder.file("app-other/secret.txt"))
    let manager = FileManager.default
    try manager.createSymbolicLink(
      atPath: folder.file("app/out.txt"), withDestinationPath: folder.file("secret.txt"))
    try manager.createSymbolicLink(atPath: folder.file("app/up"), withDestinationPath: folder.path)
    try manager.createSymbolicLink(
      atPath: folder.file("app/in.txt"), withDestinationPath: folder.file("app/img/a.txt"))
    try await ResourceFixture.running { configuration, _ in
      configuration.localFolder = folder.file("app")
      configuration.bodyLimit = 1000
    } _: { fixture in
      try await body(fixture, folder)
    }
  }

  @Test func filesOfTheFolderAreFound() async throws {
    try await running { fixture, _ in
      for reference in ["local:///img/a.txt", "local://img/a.txt", "LOCAL:///img/../img/a.txt?x#y", "local:///in.txt"] {
        let answer = try await fixture.load(reference, .cacheOnly)
        #expect((answer.text, answer.source, answer.fields[.contentType]) == ("inside", .local, "text/plain"))
      }
      #expect(try await fixture.load("local:///a%20b%3F%C3%BC%25.txt").text == "odd")
    }
  }

  @Test(arguments: [
    "local:///../secret.txt", "local:///img/../../secret.txt", "local:///%2e%2e/secret.txt",
    "local:///..%2fsecret.txt", "local:///img%2f..%2f..%2fsecret.txt", "local:///%252e%252e/secret.txt",
    "local:///out.txt", "local:///up/secret.txt", "local:///../app-other/secret.txt",
    "local:///up/app-other/secret.txt",
    "local:///", "local:///img", "local:///none.txt", "local:///img/a.txt%00", "local:////etc/passwd",
  ])
  func nothingOutsideOfItIsReached(_ reference: String) async throws {
    try await running { fixture, _ in
      await #expect(throws: LoadError.self) { try await fixture.load(reference) }
    }
  }

  @Test func fileURLsAreRefusedExceptInTheFolder() async throws {
    try await running { fixture, folder in
      for path in ["secret.txt", "app/out.txt", "app/../secret.txt", "app-other/secret.txt"] {
        await #expect(throws: LoadError.self) { try await fixture.load("file://\(folder.file(path))") }
      }
      #expect(try await fixture.load("file://\(folder.file("app/img/a.txt"))").text == "inside")
      try Files.write(String(repeating: "x", count: 1001), to: folder.file("app/big.txt"))
      await #expect(throws: LoadError.self) { try await fixture.load("local:///big.txt") }
    }
    try await ResourceFixture.running { fixture in
      for reference in ["file:///etc/hostname", "local:///etc/hostname"] {
        await #expect(throws: LoadError.self) { try await fixture.load(reference) }
      }
    }
  }
}

struct DataURLTests {
  @Test(arguments: [
    ("data:,abc", "text/plain;charset=US-ASCII", "abc"), ("data:text/html,a%20b%2C", "text/html", "a b,"),
    ("data:;charset=utf-8,%C3%BC", "text/plain;charset=utf-8", "ü"), ("DATA:image/png;base64,YWJj", "image/png", "abc"),
    ("data:;base64,YQ", "text/plain;charset=US-ASCII", "a"),
    ("data:;BASE64,Y%57%4a j", "text/plain;charset=US-ASCII", "abc"),
    ("data:,a,b", "text/plain;charset=US-ASCII", "a,b"), ("data:,", "text/plain;charset=US-ASCII", ""),
    ("data:,100%", "text/plain;charset=US-ASCII", "100%"),
    ("data:,%+f%-1%g0", "text/plain;charset=US-ASCII", "%+f%-1%g0"),
    ("data:,\u{301}x", "text/plain;charset=US-ASCII", "\u{301}x"),
  ])
  func whatItHoldsIsTheAnswer(_ text: String, _ type: String, _ content: String) async throws {
    let url = try DataURL(text)
    #expect(url.mediaType == type)
    #expect(url.bytes == Array(content.utf8))
  }

  @Test(arguments: ["data:", "data:text/plain", "data:;base64,!!!!", "data:;base64,abcde", "data:;base64,YW=Jj$"])
  func damagedOnesAreRefused(_ text: String) {
    #expect(throws: LoadError.self) { try DataURL(text) }
  }

  @Test func theLoaderAnswersThemWithoutTheNetwork() async throws {
    try await ResourceFixture.running { fixture in
      let answer = try await fixture.load("data:text/html;base64,YWJj", .networkOnly)
      #expect((answer.text, answer.status, answer.source) == ("abc", 200, .local))
      #expect((answer.fields[.contentType], answer.fields[.contentLength]) == ("text/html", "3"))
      #expect(fixture.asked.all.isEmpty)
    }
  }
}
