import CCairo
import Foundation
import PageLayout
import Testing

@testable import PagePictures

@Suite(.drawn)
struct DecodedPictureTests {
  // 16 x 8 pixels of rgb(200, 30, 40).
  private static let jpeg = bytes(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYV"
      + "pQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wAARCAAI"
      + "ABADAREAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAX/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFgEBAQEAAAAAAAAAAAAAAAAAAAQG/8"
      + "QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAAwDAQACEQMRAD8AhoWwAf/Z")
  private static let webp = bytes("UklGRh4AAABXRUJQVlA4TBEAAAAvD8ABAAdQjyIXpf+BiOh/AAA=")
  private static let gif = bytes(
    "R0lGODdhEAAIAIEAAMgeKAAAAAAAAAAAACwAAAAAEAAIAAAIFQABCBxIsKDBgwgTKlzIsKHDhwgDAgA7")
  // Red with a transparent pixel at the top left, then blue; interlaced.
  private static let animation = bytes(
    "R0lGODlhBAAEAIEAAP8AAAAA/wAAAAAAACH5BAEAAAEALAAAAAAEAAQAAAgJAAMAGEiwoMGAACH5BAEAAAAALAAAAAAEAAQAgQAA/wAAAAAAAAAA"
      + "AAgJAAEIHEiwIICAADs=")
  private static let svg = [UInt8](
    #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 8"><rect width="16" height="8" fill="rgb(200,30,40)"/></svg>"#
      .utf8)

  private static func bytes(_ text: String) -> [UInt8] { Data(base64Encoded: text).map { [UInt8]($0) } ?? [] }

  private static func png() throws -> [UInt8] {
    let canvas = try Canvas(width: 16, height: 8, scale: 1, isOpaque: true)
    cairo_set_source_rgba(canvas.cairo, 200.0 / 255, 30.0 / 255, 40.0 / 255, 1)
    cairo_paint(canvas.cairo)
    return try canvas.png(level: 6)
  }

  private static func files() throws -> [(name: String, bytes: [UInt8], decoder: pk_decoder?)] {
    [
      ("PNG", try png(), nil), ("JPEG", jpeg, PK_DECODER_JPEG), ("WebP", webp, PK_DECODER_WEBP),
      ("GIF", gif, PK_DECODER_GIF), ("SVG", svg, PK_DECODER_SVG),
    ].filter { $0.2.map { pk_load_decoder($0) == nil } ?? true }
  }

  @Test("each format is decoded where its library is there")
  func formats() throws {
    for (name, bytes, _) in try Self.files() {
      let picture = try DecodedPicture.decode(bytes)
      #expect(picture.size == LayoutSize(width: 16, height: 8), "\(name)")
      let canvas = try Canvas(width: 16, height: 8, scale: 1, isOpaque: true)
      canvas.paint(picture)
      let pixel = try #require(canvas.pixel(8, 4))
      // JPEG is not exact.
      let isNear = zip(pixel, [200, 30, 40]).allSatisfy { abs(Int($0) - $1) <= (name == "JPEG" ? 6 : 0) }
      #expect(isNear, "\(name): \(pixel)")
    }
  }

  @Test("the size of a PNG is that of its first chunk, and without one it is damaged")
  func firstChunk() throws {
    var bytes = try Self.png()
    // A chunk before the size, which decoders skip, with another size in its place.
    bytes.insert(contentsOf: [0, 0, 0, 8] + Array("abCd".utf8) + [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0], at: 8)
    #expect(throws: PictureError.picture("the PNG picture is damaged")) { try DecodedPicture.decode(bytes) }
  }

  @Test(
    "a drawing whose cost has no bound is refused",
    arguments: [
      ("<svg><rect/></svg>", true), (#"<?xml version="1.0" encoding="UTF-8"?><svg/>"#, true),
      ("<svg><filter id='a'/></svg>", false), ("<svg style='filter: blur(9px)'/>", false),
      ("<svg><x:image href='data:,'/></svg>", false), ("<!DOCTYPE svg [<!ENTITY a 'b'>]><svg/>", false),
      ("<svg style='f\\69lter: blur(9px)'/>", false), ("<svg style='&#102;ilter: blur(9px)'/>", false),
      (#"<?xml version="1.0" encoding="UTF-7"?><svg/>"#, false), ("<svg><path stroke-dasharray='.01'/></svg>", false),
      (#"<?xml version="1.0" encoding = "UTF-7"?><svg/>"#, false), ("<svg>\u{600}<image/></svg>", false),
      ("<?xml version='1.0'\(String(repeating: " ", count: 400))encoding='UTF-7'?><svg/>", false),
      ("<svg><x:include href='a'/></svg>", false), ("<svg><style>@import 'a'</style></svg>", false),
      ("<svg><style>* { fill: url('da\tta:,') }</style></svg>", false), ("<svg><use href='da\nta:,'/></svg>", false),
      ("<?xml-stylesheet href='a'?><svg/>", false), ("<svg><rect fill=red/></svg>", false), ("</svg>", false),
      ("<!-- > --><svg><![CDATA[<]]></svg>", true), ("<!DOCTYPE svg [<!ELEMENT a (b)>]><svg/>", false),
      (#"<!DOCTYPE svg PUBLIC "a" "b"><svg id='a' fill='#aaa'/>"#, true),
      // What a style sheet refers to has to be known for each element.
      ("<svg><style>g{mask:url(#m)}</style><mask id='m'/></svg>", false),
      ("<svg><style>.a,.b{mask:url(#m)}</style><mask id='m'/></svg>", true),
      ("<svg><style>g{a:b/*}.a{*/;mask:url(#m)}</style><mask id='m'/></svg>", false),
      ("<svg><style>g{a:'}.a{';mask:url(#m)}</style><mask id='m'/></svg>", false),
      ("<svg><style>g{fill:#fff}</style><mask id='m'/></svg>", true),
      // Patterns and markers within themselves.
      ("<svg><pattern id='p'><g fill='url(#q)'/></pattern><pattern id='q'/></svg>", false),
      ("<svg><g fill='url(#q)'><pattern id='p'/></g><pattern id='q'/></svg>", false),
      ("<svg><marker id='m'><path marker-end='url(#m)'/></marker></svg>", false),
    ])
  func unboundedDrawings(_ text: String, _ isBounded: Bool) {
    #expect((SVGOutline(Array(text.utf8)) != nil) == isBounded)
    #expect(SVGOutline(text.utf8.flatMap { [0, $0] }) == nil)
  }

  @Test(
    "the work for a drawing follows from its elements and groups, and from the copies that references make",
    arguments: [
      ("<svg><rect/><rect/></svg>", 3, 3), ("<svg><g opacity='.5'><rect/></g></svg>", 13, 3),
      ("<svg><rect mask='url(#m)'/></svg>", 16, 2), ("<svg><style>*{fill:red}</style><rect/></svg>", 30, 3),
      // A letter and what is combined with it are two characters for the parser.
      ("<svg>\u{600}<rect/>\u{600}<rect/></svg>", 3, 3),
      ("<svg><g id='a'><rect/></g><use href='#a'/><use href='#a'/></svg>", 9, 10),
      ("<svg><clipPath id='c'><path/></clipPath><g clip-path='url(#c)'/><path clip-path='url( #c )'/></svg>", 48, 10),
      // All elements may inherit a pattern, for what is in them and for their lines.
      ("<svg><pattern id='p'><rect/></pattern><g fill='url(#p)'><rect/></g></svg>", 191, 20),
      ("<svg><marker id='m'><rect/></marker><path d='M0 0zz' marker-mid='url(#m)'/></svg>", 73, 26),
      ("<svg><style>.a{clip-path:url(#c)}</style><clipPath id='c'><path/></clipPath><g class='b a'/></svg>", 70, 8),
    ])
  func work(_ text: String, _ work: Double, _ count: Double) throws {
    let outline = try #require(SVGOutline(Array(text.utf8)))
    #expect(outline.work.rounded() == work && outline.count.rounded() == count, "\(outline.work) \(outline.count)")
  }

  @Test("a drawing with more copies of elements than may be is refused, and many elements without copies are drawn")
  func copies() throws {
    /// Levels of three copies each of the level below, above so many rectangles.
    func nested(_ levels: Int, _ rectangles: Int) -> [UInt8] {
      let rectangle = "<rect width='1' height='1'/>"
      let head = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><g id='a0'>"
      let uses = (1..<levels).map {
        "<g id='a\($0)'>" + String(repeating: "<use href='#a\($0 - 1)'/>", count: 3) + "</g>"
      }
      return Array((head + String(repeating: rectangle, count: rectangles) + "</g>\(uses.joined())</svg>").utf8)
    }
    let few = try #require(SVGOutline(nested(4, 5)))
    #expect((200...600).contains(few.count), "\(few.count)")
    #expect(try #require(SVGOutline(nested(12, 3_000))).count > SVGOutline.countLimit)
    #expect(try #require(SVGOutline(nested(1, 30_000))).count < SVGOutline.countLimit)
    if pk_load_decoder(PK_DECODER_SVG) == nil {
      #expect(throws: PictureError.picture("the SVG picture draws more than 300000 elements")) {
        try DecodedPicture.decode(nested(12, 3_000))
      }
      #expect(throws: Never.self) { try DecodedPicture.decode(nested(4, 5)) }
    }
    // References within each other take the room of nested elements.
    let chain = (0..<300).map { "<g id='b\($0)'><use href='#b\($0 + 1)'/></g>" }.joined()
    #expect(SVGOutline(Array("<svg>\(chain)</svg>".utf8)) == nil)
    #expect(SVGOutline(Array("<svg><g id='a'><use href='#a'/></g></svg>".utf8)) == nil)
  }

  @Test("a drawing of many groups is drawn in fewer pixels", .decoded(PK_DECODER_SVG))
  func manyGroups() throws {
    let group = "<g opacity='.9'><rect width='2000' height='2000'/></g>"
    let text = "<svg xmlns='http://www.w3.org/2000/svg' width='2000' height='2000'>"
    let few = try DecodedPicture.decode(Array((text + group + "</svg>").utf8))
    let many = try DecodedPicture.decode(Array((text + String(repeating: group, count: 12_000) + "</svg>").utf8))
    #expect(few.size == many.size && few.cost == 2_000 * 2_000 * 4)
    #expect(many.cost < 80_000 * 4, "\(many.cost)")
  }

  @Test("of folders of fonts those count that are within no other one")
  func outermostFolders() {
    #expect(
      SystemFonts.outermost([
        "/usr/share/fonts/a", "/usr/share/fonts", "/usr/share/fonts/a/b", "/usr/share/fontsx", "/a/",
      ])
        == ["/a/", "/usr/share/fonts", "/usr/share/fontsx"])
  }

  @Test("the first picture of a GIF is drawn, with its transparent pixels", .decoded(PK_DECODER_GIF))
  func firstPicture() throws {
    let canvas = try Canvas(width: 4, height: 4, scale: 1, isOpaque: false)
    canvas.paint(try DecodedPicture.decode(Self.animation))
    #expect(canvas.pixel(0, 0) == [0, 0, 0, 0])
    for place in [(1, 0), (0, 1), (3, 3)] { #expect(canvas.pixel(place.0, place.1) == [255, 0, 0, 255]) }
  }

  @Test("a JPEG that is drawn small is decoded small, and an SVG in the size it is drawn in")
  func fittingSizes() throws {
    if pk_load_decoder(PK_DECODER_JPEG) == nil {
      let picture = try DecodedPicture.decode(Self.jpeg, for: LayoutSize(width: 4, height: 2))
      #expect(picture.size == LayoutSize(width: 16, height: 8))
      #expect(picture.cost == 4 * 2 * 4)
    }
    if pk_load_decoder(PK_DECODER_SVG) == nil {
      let picture = try DecodedPicture.decode(Self.svg, for: LayoutSize(width: 160, height: 80))
      #expect(picture.size == LayoutSize(width: 16, height: 8))
      #expect(picture.cost == 160 * 80 * 4)
      let huge = try DecodedPicture.decode(Self.svg, for: LayoutSize(width: 1e9, height: 1e9))
      #expect(huge.cost <= 5_000_000 * 4)
    }
  }

  @Test("a picture is decoded once for its bytes and its size, and one that has changed is decoded again")
  func keptPictures() throws {
    func file(_ green: Double) throws -> [UInt8] {
      let canvas = try Canvas(width: 40, height: 30, scale: 1, isOpaque: true)
      cairo_set_source_rgba(canvas.cairo, 0.3, green, 0.7, 1)
      cairo_paint(canvas.cairo)
      return try canvas.png(level: 6)
    }
    func color(_ picture: DecodedPicture) throws -> [UInt8]? {
      let canvas = try Canvas(width: 40, height: 30, scale: 1, isOpaque: true)
      canvas.paint(picture)
      return canvas.pixel(20, 20)
    }
    var bytes = try file(1)
    let first = try DecodedPicture.decode(bytes)
    #expect(try DecodedPicture.decode(bytes, for: LayoutSize(width: 9, height: 9)) === first)
    // Other bytes of the same length, by the same name or in the same array.
    let other = try file(0)
    bytes.replaceSubrange(bytes.indices, with: other)
    let second = try DecodedPicture.decode(bytes)
    #expect(second !== first)
    #expect(try color(first)?[1] == 255 && color(second)?[1] == 0)
    if pk_load_decoder(PK_DECODER_JPEG) == nil {
      let small = LayoutSize(width: 4, height: 2)
      #expect(try DecodedPicture.decode(Self.jpeg, for: small) === DecodedPicture.decode(Self.jpeg, for: small))
      #expect(try DecodedPicture.decode(Self.jpeg, for: small).cost < DecodedPicture.decode(Self.jpeg).cost)
    }
    // One of more than 12 MB is not kept.
    let large = try Canvas(width: 2_000, height: 2_000, scale: 1, isOpaque: true).png(level: 1)
    #expect(try DecodedPicture.decode(large) !== DecodedPicture.decode(large))
  }

  @Test("a picture's PNG copy for SVG files counts to what is kept")
  func keptCopies() throws {
    // Each has 4 MB of pixels, a file of 3 MB, and a copy of 3 MB.
    let files = try (0..<6).map { number in
      let canvas = try Canvas(width: 1_000, height: 1_000, scale: 1, isOpaque: true)
      let data = try #require(cairo_image_surface_get_data(canvas.surface))
      var random = UInt64(number)
      for byte in 0..<4_000_000 {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        data[byte] = UInt8(truncatingIfNeeded: random >> 33)
      }
      cairo_surface_mark_dirty(canvas.surface)
      return try canvas.png(level: 1)
    }
    struct Reference { weak var picture: DecodedPicture? }
    func encode() throws -> [Reference] {
      let pictures = try files.map { try DecodedPicture.decode($0) }
      for picture in pictures { #expect(try picture.encode(by: .none) > 2_500_000) }
      return pictures.map { Reference(picture: $0) }
    }
    // Of 48 MiB there is room for five of 10 MB, of 7 MB for six.
    #expect(try encode().count { $0.picture != nil } <= 5)
  }

  @Test("small files with the same end are found as fast as others, and only so many are kept as have room")
  func smallFiles() {
    let end = [UInt8](repeating: 0, count: 300)
    let files = (0..<1_000).map { DecodedPicture.Kept(bytes: [UInt8($0 % 256), UInt8($0 / 256)] + end, pixels: nil) }
    #expect(Set(files.map(\.hashValue)).count > 990)
    #expect(files.allSatisfy { $0.cost(of: 4) >= 2_000 })
  }

  @Test("a file that is cut or damaged gives an error of one sentence, or a picture")
  func damaged() throws {
    for (name, bytes, _) in try Self.files() {
      for count in 0..<bytes.count { _ = try? DecodedPicture.decode(Array(bytes.prefix(count))) }
      #expect(throws: PictureError.self, "\(name)") { try DecodedPicture.decode(Array(bytes.prefix(bytes.count / 2))) }
      var random = UInt64(bytes.count)
      for _ in 0..<2_000 {
        var damaged = bytes
        for _ in 0..<3 {
          random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          damaged[Int(random >> 33) % damaged.count] = UInt8(truncatingIfNeeded: random >> 20)
        }
        _ = try? DecodedPicture.decode(damaged)
      }
    }
  }

  @Test("a picture with too many pixels is refused by its head")
  func tooManyPixels() throws {
    func refused(_ bytes: [UInt8]) {
      let error = #expect(throws: PictureError.self) { try DecodedPicture.decode(bytes) }
      #expect(error?.description.contains("are allowed") ?? false, "\(error?.description ?? "")")
    }
    var png = try Self.png()
    png.replaceSubrange(16..<24, with: [0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30])  // 30,000 x 30,000
    refused(png)
    if pk_load_decoder(PK_DECODER_JPEG) == nil, let start = Self.jpeg.firstRange(of: [0xFF, 0xC0])?.lowerBound {
      var jpeg = Self.jpeg
      jpeg.replaceSubrange((start + 5)..<(start + 9), with: [0x75, 0x30, 0x75, 0x30])
      refused(jpeg)
    }
    if pk_load_decoder(PK_DECODER_GIF) == nil {
      var gif = Self.gif
      gif.replaceSubrange(6..<10, with: [0xFF, 0xFF, 0xFF, 0xFF])
      refused(gif)
    }
    refused([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + [UInt8](repeating: 0, count: 33 << 20))
    if pk_load_decoder(PK_DECODER_SVG) == nil { refused(Self.svg + [UInt8](repeating: 32, count: 2 << 20)) }
  }

  @Test("an SVG reads no other files", .decoded(PK_DECODER_SVG))
  func otherFiles() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pictures-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let other = folder.appendingPathComponent("red.svg")
    let head =
      #"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="16" height="8">"#
    try Data((head + #"<rect id="red" width="16" height="8" fill="red"/></svg>"#).utf8).write(to: other)
    let svg = head + #"<use xlink:href="file://\#(other.path)#red"/></svg>"#
    let canvas = try Canvas(width: 16, height: 8, scale: 1, isOpaque: false)
    canvas.paint(try DecodedPicture.decode(Array(svg.utf8)))
    #expect(canvas.pixel(8, 4) == [0, 0, 0, 0])
  }

  @Test("bytes of no known format are named", arguments: ["", "hello", "<html></html>", "BM"])
  func unknown(_ text: String) {
    #expect(throws: PictureError.picture("the picture has a format that cannot be drawn")) {
      try DecodedPicture.decode(Array(text.utf8))
    }
  }
}

extension Canvas {
  func paint(_ picture: DecodedPicture) {
    guard let surface = picture.surface else { return }
    cairo_set_source_surface(cairo, surface, 0, 0)
    cairo_paint(cairo)
  }
}
