import Testing

@testable import HTTPCache

struct ContentKindTests {
  private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  private static let portal = "<!DOCTYPE html><title>Log in</title>"

  @Test("the bytes tell what an answer is, and the media type where they do not")
  func kinds() {
    let rows: [(type: String?, start: [UInt8], kind: ContentKind?)] = [
      ("text/html; charset=utf-8", Array(Self.portal.utf8), .html),
      ("application/json", Array(Self.portal.utf8), .html),
      ("image/png", Array("\u{FEFF} \n<!-- a --><HTML>".utf8), .html),
      ("text/html", [], .html),
      ("application/json; charset=utf-8", Array("{}".utf8), .json),
      ("application/problem+json", [], .json),
      ("text/html", Array(" \n[1]".utf8), .json),
      (nil, Array("{\"a\": 1}".utf8), .json),
      ("text/javascript", Array("[1].map(f)".utf8), nil),
      ("text/plain", Self.png, .image), ("text/html", Self.png, .image), (nil, Self.png, .image),
      ("image/x-unknown", [1, 2, 3], .image),
      ("image/svg+xml", Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8), .image),
      ("application/octet-stream", Array("wOF2".utf8) + [0], .font), ("application/x-font-ttf", [], .font),
      ("application/octet-stream", [0, 1, 0, 0, 0, 12], .font),
      ("application/octet-stream", [1, 2], nil), ("text/plain", Array("hello".utf8), nil), (nil, [], nil),
      ("application/xml", Array("<?xml version='1.0'?><a/>".utf8), nil),
    ]
    for (type, start, kind) in rows {
      #expect(ContentKind(type: type, start: start) == kind, "\(type ?? "none") \(start)")
    }
  }

  @Test(
    "what is asked for is told by the type of the resource, or by an Accept of one kind",
    arguments: [
      (ResourceType.image, nil, ContentKind.image), (.font, "*/*", .font),
      (.fetch, "application/json", .json), (.fetch, "application/json, application/problem+json;q=0.5", .json),
      (.fetch, "application/json, */*", nil), (.fetch, "text/html", nil), (.fetch, nil, nil),
      (.other, "image/webp, image/*;q=0.8", .image),
    ] as [(ResourceType, String?, ContentKind?)])
  func asked(_ type: ResourceType, _ accept: String?, _ kind: ContentKind?) {
    #expect(ContentKind(askedFor: type, accept: accept) == kind)
  }

  @Test(
    "only what is of another kind than what is stored and asked for may not take its place",
    arguments: [
      (.json, .html, nil, false), (.json, .html, .json, false), (.image, .html, .image, false),
      (.image, .json, .image, false), (.font, .html, .font, false), (.json, .json, .json, true),
      // Nobody can tell what it is, or what is stored is no better.
      (.json, nil, .json, true), (nil, .html, .json, true), (.html, .json, nil, true), (.html, .html, .json, true),
      // What is stored is not what is asked for now.
      (.json, .html, .image, true),
    ] as [(ContentKind?, ContentKind?, ContentKind?, Bool)])
  func replacing(_ stored: ContentKind?, _ new: ContentKind?, _ asked: ContentKind?, _ may: Bool) {
    #expect(ContentKind.mayReplace(stored, by: new, askedFor: asked) == may)
  }
}
