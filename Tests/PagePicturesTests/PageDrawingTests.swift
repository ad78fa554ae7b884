import CCairo
import Foundation
import PageLayout
import Testing

@testable import PagePictures

@Suite(.drawn)
struct PageDrawingTests {
  @Test("boxes, borders and corners have their colours at their places")
  func boxes() throws {
    var page = try TestPage()
    page.add(
      "position:absolute;left:20;top:20;width:100;height:60;backgroundColor:red;borderWidth:10;borderColor:blue;"
        + "borderTopColor:yellow;borderRadius:20")
    let canvas = try page.draw()
    #expect(canvas.color(10, 10) == "white")
    #expect(canvas.color(21, 21) == "white")
    #expect(canvas.color(70, 25) == "yellow")
    #expect(canvas.color(25, 50) == "blue")
    #expect(canvas.color(70, 75) == "blue")
    #expect(canvas.color(70, 50) == "red")
    #expect(canvas.color(130, 50) == "white")
  }

  @Test("a gradient goes from its first to its last colour")
  func gradients() throws {
    var page = try TestPage()
    page.add("width:200;height:100;backgroundImage:linear-gradient(to right, rgb(0,0,0), rgb(200,100,0))")
    page.add("width:200;height:100;backgroundImage:linear-gradient(to top, red 50%, blue 50%)")
    let canvas = try page.draw()
    let middle = try #require(canvas.pixel(100, 50))
    #expect(abs(Int(middle[0]) - 100) <= 2 && abs(Int(middle[1]) - 50) <= 2)
    #expect(canvas.color(100, 120) == "blue")
    #expect(canvas.color(100, 180) == "red")
  }

  @Test("a group with an opacity is drawn as one, and groups in groups are not limited by memory")
  func opacity() throws {
    var page = try TestPage()
    let group = page.add("width:100;height:100;opacity:0.5;backgroundColor:blue")
    page.add("position:absolute;left:50;top:0;width:100;height:50;backgroundColor:red", to: group)
    var parent = page.add("width:100;height:50;opacity:0.99")
    for _ in 0..<300 { parent = page.add("width:100;height:50;opacity:0.99;backgroundColor:black", to: parent) }
    page.add("width:100;height:50;opacity:0;backgroundColor:red")
    let canvas = try page.draw()
    // Over white; red hides the blue below it.
    #expect(canvas.color(75, 25) == "255,128,128" || canvas.color(75, 25) == "255,127,127")
    #expect(canvas.color(25, 25) == "128,128,255" || canvas.color(25, 25) == "127,127,255")
    #expect(canvas.color(50, 175) == "white")
  }

  @Test("groups have as many pixels as the picture and four million, and what is left over fades by itself")
  func groupPixels() throws {
    var room = PixelRoom(picture: 1_000_000)
    #expect(!room.take((5 << 20)) && room.take(4 << 20) && room.take(1_000_000) && !room.take(1))
    room.give(4 << 20)
    #expect(room.take(4 << 20) && !room.take(1))

    // Two groups of nine million pixels are too many: in the second one blue is seen through red.
    var page = try TestPage(width: 3_000, height: 3_000)
    let size = "width:3000;height:3000;"
    let outer = page.add(size + "opacity:0.999;backgroundColor:white")
    let inner = page.add(size + "opacity:0.5;backgroundColor:blue", to: outer)
    page.add(size + "backgroundColor:red", to: inner)
    let pixel = try #require(try page.draw().pixel(1_500, 1_500))
    #expect(pixel[2] > 100 && pixel[2] < 220, "\(pixel)")
    // A small group in it has room.
    page = try TestPage(width: 3_000, height: 3_000)
    let other = page.add(size + "opacity:0.999;backgroundColor:white")
    let small = page.add("width:200;height:200;opacity:0.5;backgroundColor:blue", to: other)
    page.add("width:200;height:200;backgroundColor:red", to: small)
    #expect(["255,128,128", "255,127,127"].contains(try page.draw().color(100, 100)))
  }

  @Test("the part of an element outside of a clip is not drawn")
  func clips() throws {
    var page = try TestPage()
    let outer = page.add("width:100;height:100;overflow:hidden;borderRadius:30;backgroundColor:yellow")
    page.add("position:absolute;left:50;top:-50;width:300;height:300;backgroundColor:blue", to: outer)
    let list = page.add("width:100;height:50", "list")
    for _ in 0..<10 { page.add("height:20;backgroundColor:red", "cell", to: list) }
    let canvas = try page.draw()
    #expect(canvas.color(40, 50) == "yellow")
    #expect(canvas.color(60, 50) == "blue")
    #expect(canvas.color(98, 2) == "white")
    #expect(canvas.color(120, 50) == "white")
    #expect(canvas.color(50, 149) == "red")
    #expect(canvas.color(50, 155) == "white")
  }

  @Test(
    "an element is moved, turned and scaled around its origin",
    arguments: [
      ("translate(50px, 100%)", "center", (110, 100), (60, 60)), ("rotate(90deg)", "left bottom", (60, 100), (60, 60)),
      ("scale(2)", "left top", (110, 110), (35, 60)), ("scale(0.5)", "center", (60, 60), (44, 44)),
      ("translateX(40px) rotate(45deg)", "center", (100, 85), (45, 60)),
      ("matrix(1,0,0,1,30,0)", "center", (105, 60), (60, 85)),
    ] as [(String, String, (Int, Int), (Int, Int))])
  func transforms(_ transform: String, _ origin: String, _ inside: (Int, Int), _ outside: (Int, Int)) throws {
    var page = try TestPage()
    page.add(
      "position:absolute;left:40;top:40;width:40;height:40;backgroundColor:red;transform:\(transform);"
        + "transformOrigin:\(origin)")
    let canvas = try page.draw()
    #expect(canvas.color(inside.0, inside.1) == "red", "\(inside)")
    #expect(canvas.color(outside.0, outside.1) == "white", "\(outside)")
  }

  @Test(
    "what is scaled beyond all measure is drawn as it is seen, at no other cost",
    arguments: [
      (["scale(0.01)", "scale(100)"], "red"), (["scale(100)", "scale(0.01)"], "red"), (["scale(100000)"], "red"),
      (["scale(1000000)", "scale(1000000)"], "white"), (["scale(0.001)", "scale(0.001)", "scale(0.001)"], "white"),
      (Array(repeating: "scale(0.5)", count: 18) + Array(repeating: "scale(2)", count: 18), "red"),
      (Array(repeating: "skewX(60deg)", count: 12) + Array(repeating: "skewX(-60deg)", count: 12), "red"),
      (["matrix(1000,0,0,0.001,0,0)", "matrix(0.001,0,0,1000,0,0)"], "red"),
    ])
  func nestedScales(_ transforms: [String], _ color: String) throws {
    let styles = [
      "borderRadius:80", "boxShadow:0 0 500px black", "borderWidth:3;borderStyle:dotted;borderColor:red",
      "borderWidth:1;borderRadius:9;borderStyle:dashed;borderColor:red", "opacity:0.999",
    ]
    for style in styles {
      var page = try TestPage()
      var parent = "_root"
      for transform in transforms { parent = page.add("width:200;height:200;transform:\(transform)", to: parent) }
      parent = page.add("width:200;height:200;backgroundColor:red;\(style)", to: parent)
      page.add("position:absolute;top:0;fontSize:20;color:red", "text", to: parent, ["value": .text("Hello 😀")])
      var drawing = page.drawing()
      drawing.timeLimit = .seconds(60)
      #expect(try drawing.draw(width: 200).color(100, 140) == color, "\(style)")
      #expect(throws: Never.self) { try drawing.svg(width: 200) }
    }
  }

  @Test("large letters are drawn as paths, and large emoji from small pictures")
  func largeGlyphs() throws {
    var page = try TestPage(width: 400, height: 800)
    page.add("height:400;fontSize:300", "text", ["value": .text("中")])
    page.add("height:400;fontSize:300", "text", ["value": .text("😀")])
    let canvas = try page.draw()
    #expect(canvas.inked(0..<400, 0..<400) > 10_000)
    let yellow = (0..<400).reduce(0) { count, x in
      count
        + (400..<800).count { y in
          canvas.pixel(x, y).map { $0[0] > 200 && $0[1] > 150 && $0[2] < 120 } ?? false
        }
    }
    #expect(yellow > 20_000, "\(yellow)")
  }

  @Test("shadows are behind a box, blurred, and not within it")
  func shadows() throws {
    var page = try TestPage()
    page.add("position:absolute;left:50;top:50;width:50;height:50;boxShadow:20px 0 0 0 black")
    page.add("position:absolute;left:50;top:130;width:50;height:40;boxShadow:0 0 20px black;backgroundColor:red")
    page.add("position:absolute;left:130;top:50;width:50;height:50;boxShadow:inset 0 0 10px black;backgroundColor:red")
    let canvas = try page.draw()
    #expect(canvas.color(75, 75) == "white")
    #expect(canvas.color(110, 75) == "black")
    #expect(canvas.color(75, 150) == "red")
    let near = try #require(canvas.pixel(48, 150))
    let far = try #require(canvas.pixel(38, 150))
    #expect(near[0] > 90 && near[0] < 180 && far[0] > near[0] + 40)
    let (edge, middle) = (try #require(canvas.pixel(131, 75)), try #require(canvas.pixel(155, 75)))
    #expect(edge[0] < 160 && middle[0] > 245)
  }

  @Test("elements are drawn by their order, and fixed ones above all")
  func order() throws {
    var page = try TestPage()
    let parent = page.add("width:200;height:200")
    let place = "position:absolute;left:0;top:0;width:100;height:100;"
    page.add(place + "backgroundColor:red;zIndex:2", to: parent)
    page.add(place + "backgroundColor:blue;zIndex:1", to: parent)
    page.add("position:fixed;left:50;top:50;width:50;height:50;backgroundColor:green", to: parent)
    page.add(place + "left:90;backgroundColor:yellow;zIndex:9", to: parent)
    let canvas = try page.draw()
    #expect(canvas.color(20, 20) == "red")
    #expect(canvas.color(95, 20) == "yellow")
    #expect(canvas.color(95, 95) == "green")
  }

  @Test("texts have their colour, alignment, decoration and number of lines")
  func texts() throws {
    var page = try TestPage()
    func text(_ style: String, _ value: String) {
      page.add("height:40;fontSize:20;fontFamily:DejaVu Sans;\(style)", "text", ["value": .text(value)])
    }
    text("color:red", "MMM")
    text("textAlign:right", "MMM")
    text("textDecoration:underline", "MMM")
    text("lines:1", "one two three four five six seven eight")
    let canvas = try page.draw()
    let ink = (0..<60).flatMap { x in (0..<24).map { y in canvas.color(x, y) } }
    #expect(ink.contains("red"))
    #expect(canvas.inked(100..<200, 0..<40) == 0)
    #expect(canvas.inked(0..<100, 40..<80) == 0)
    #expect(canvas.inked(140..<200, 40..<80) > 100)
    // The line below the letters.
    #expect(canvas.inked(0..<50, 98..<104) > 40)
    #expect(canvas.inked(150..<200, 120..<144) > 20)
    #expect(canvas.inked(0..<200, 145..<200) == 0)
  }

  @Test("Chinese and emoji have glyphs")
  func glyphs() throws {
    var page = try TestPage()
    page.add("fontSize:60;height:100", "text", ["value": .text("中文")])
    page.add("fontSize:60;height:100", "text", ["value": .text("😀")])
    let canvas = try page.draw()
    #expect(canvas.inked(0..<120, 0..<100) > 800)
    // A yellow face, and no empty frame.
    let yellow = (0..<80).reduce(0) { count, x in
      count
        + (100..<200).count { y in
          guard let pixel = canvas.pixel(x, y) else { return false }
          return pixel[0] > 200 && pixel[1] > 150 && pixel[2] < 120
        }
    }
    #expect(yellow > 500)
  }

  @Test("the components of pages are drawn: switches, the dots of a slider, fields")
  func components() throws {
    var page = try TestPage()
    page.add("width:102;height:62", "switch", ["checked": .text("true")])
    let slider = page.add("width:200;height:100", "slider", ["index": .number(0)])
    for _ in 0..<3 { page.add("width:200;height:100;backgroundColor:blue", to: slider) }
    page.add(
      "position:absolute;left:0;top:80;width:200;height:20;itemSelectedColor:red;itemColor:yellow;itemSize:10",
      "indicator", to: slider)
    page.add(
      "height:30;fontSize:16;fontFamily:DejaVu Sans;placeholderColor:red", "input", ["placeholder": .text("MMMM")])
    let canvas = try page.draw()
    #expect(canvas.color(20, 31) == "76,216,100")
    #expect(canvas.color(75, 31) == "white")
    let dots = Set((0..<200).map { canvas.color($0, 152) })
    #expect(dots.contains("red") && dots.contains("yellow"))
    #expect(canvas.inked(0..<80, 162..<192) > 30)
  }

  @Test(
    "a picture fills its box as its attribute says",
    arguments: [
      ("stretch", ["red", "red", "red"]), ("cover", ["red", "red", "red"]), ("contain", ["white", "red", "white"]),
    ])
  func resizing(_ resize: String, _ expected: [String]) throws {
    // Twice as wide as high.
    var page = try TestPage(width: 16, height: 8)
    page.add("width:16;height:8;backgroundColor:red")
    let picture = try DecodedPicture.decode(page.drawing().png(width: 16))
    page = try TestPage()
    let ref = page.add("width:100;height:100", "image", ["resize": .text(resize), "src": .text("x")])
    page.pictures[ref] = picture
    let canvas = try page.draw()
    #expect([(50, 5), (50, 50), (50, 95)].map { canvas.color($0.0, $0.1) } == expected)
    #expect(canvas.color(150, 50) == "white")
  }

  @Test("a picture that cannot be decoded has a grey box")
  func placeholder() throws {
    var page = try TestPage()
    let ref = page.add("width:100;height:100", "image")
    page.pictures[ref] = .placeholder
    #expect(try page.draw().color(50, 50) == "230,230,230")
  }

  // MARK: Files

  @Test("a PNG file has the pixels that were drawn")
  func png() throws {
    var page = try TestPage(width: 300, height: 700)
    page.add("width:300;height:690;backgroundImage:linear-gradient(45deg, red, blue, lime)")
    page.add("fontSize:10;height:10", "text", ["value": .text("Hello")])
    var drawing = page.drawing()
    let canvas = try drawing.draw(width: 600)
    // Level 1 is that of ISA-L, where it is installed.
    for level in [0, 1, 2, 6] {
      drawing.compressionLevel = level
      let file = try drawing.png(width: 600)
      let again = try Canvas(width: 600, height: 1_400, scale: 1, isOpaque: true)
      again.paint(try DecodedPicture.decode(file))
      for x in stride(from: 0, to: 600, by: 7) {
        for y in stride(from: 0, to: 1_400, by: 11) { #expect(again.pixel(x, y) == canvas.pixel(x, y)) }
      }
    }
  }

  @Test("a PNG file of any size and contents can be read", arguments: [1, 2])
  func pngSizes(_ level: Int) throws {
    var random: UInt64 = 1
    for (width, height) in [(1, 1), (1, 3_000), (3_000, 1), (87, 1_500), (300, 400)] {
      for isOpaque in [true, false] {
        let canvas = try Canvas(width: Double(width), height: Double(height), scale: 1, isOpaque: isOpaque)
        let data = try #require(cairo_image_surface_get_data(canvas.surface))
        // What cannot be compressed takes more than the buffers at once.
        for byte in 0..<(height * Int(cairo_image_surface_get_stride(canvas.surface))) {
          random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          data[byte] = byte % 4 == 3 ? 255 : UInt8(truncatingIfNeeded: random >> 33)
        }
        cairo_surface_mark_dirty(canvas.surface)
        let again = try Canvas(width: Double(width), height: Double(height), scale: 1, isOpaque: isOpaque)
        again.paint(try DecodedPicture.decode(try canvas.png(level: level)))
        for (x, y) in [(0, 0), (width - 1, 0), (width / 2, height / 2), (width - 1, height - 1)] {
          #expect(again.pixel(x, y) == canvas.pixel(x, y))
        }
      }
    }
  }

  @Test("an SVG file has the same shapes, and no more bytes than it may")
  func svg() throws {
    var page = try TestPage()
    page.add("width:100;height:100;backgroundColor:red;opacity:0.5")
    page.add("fontSize:20", "text", ["value": .text("Hello")])
    var drawing = page.drawing()
    let text = String(decoding: try drawing.svg(width: 200), as: UTF8.self)
    #expect(text.contains("<svg") && text.hasSuffix("</svg>\n"))
    #expect(text.contains(#"width="200" height="200""#))
    drawing.byteLimit = 300
    #expect(throws: PictureError.tooManyBytes(limit: 300)) { try drawing.svg(width: 200) }
  }

  private static func noise(_ side: Int, _ seed: UInt64) throws -> DecodedPicture {
    let canvas = try Canvas(width: Double(side), height: Double(side), scale: 1, isOpaque: true)
    var random = seed
    for row in 0..<side {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let color = (0..<3).map { Double((random >> (33 + 8 * $0)) & 255) / 255 }
      cairo_set_source_rgba(canvas.cairo, color[0], color[1], color[2], 1)
      cairo_rectangle(canvas.cairo, 0, Double(row), Double(side), 1)
      cairo_fill(canvas.cairo)
    }
    return try DecodedPicture.decode(try canvas.png(level: 1))
  }

  @Test("pictures in an SVG file have a bound of bytes, and a picture that is drawn often is in it once")
  func svgPictures() throws {
    func drawing(_ pictures: [DecodedPicture], times: Int = 1) throws -> PageDrawing {
      var page = try TestPage()
      for picture in pictures {
        for _ in 0..<times { page.pictures[page.add("width:20;height:20", "image")] = picture }
      }
      return page.drawing()
    }
    let small = try Self.noise(64, 1)
    let once = try drawing([small]).svg(width: 200)
    let often = try drawing([small], times: 5).svg(width: 200)
    #expect(once.firstRange(of: Array("data:image/png;base64,".utf8)) != nil)
    #expect(often.count < once.count + 5 * 1_000)
    // Each has 16 MB of pixels.
    let large = try (1...5).map { try Self.noise(2_000, $0) }
    #expect(try drawing(Array(large.prefix(4))).svg(width: 200).count > 4 * 2_000)
    let error = #expect(throws: PictureError.self) { try drawing(large).svg(width: 200) }
    #expect(error?.description == "the pictures in the SVG file have more than 67108864 bytes of pixels")
    // As PNG they are drawn one after the other.
    #expect(throws: Never.self) { try drawing(large).png(width: 200) }
    var bounded = try drawing(Array(large.prefix(2)))
    bounded.byteLimit = 5_000
    #expect(throws: PictureError.tooManyBytes(limit: 5_000)) { try bounded.svg(width: 200) }
  }

  @Test("large emoji in an SVG file are drawn from images that have a bound of bytes")
  func svgLetters() throws {
    let page = try TestPage(width: 400, height: 400)
    var style = TextStyle()
    style.fontSize = 300
    func draw(_ text: String, in width: Double, room: inout Int) throws -> Int {
      let canvas = try Canvas(width: 400, height: 400, scale: 1, isOpaque: true)
      _ = page.texts.draw(
        LayoutText(text, style: style), in: LayoutRect(x: 0, y: 0, width: width, height: 400), paints: [],
        imageRoom: &room, canvas.cairo)
      return canvas.inked(0..<400, 0..<400)
    }
    // An image is as large as its text, not as the text's box: 128 pixels for a letter, with a margin.
    var room = 1 << 20
    #expect(try draw("😀", in: 30_000, room: &room) > 10_000)
    #expect((100_000..<500_000).contains((1 << 20) - room), "\(room)")
    // What is left is too little for the next one; other letters need no image.
    room = 90_000
    _ = try draw("😀", in: 400, room: &room)
    #expect(try room == 90_000 && draw("A", in: 400, room: &room) > 1_000 && room == 90_000)
  }

  @Test("an SVG file of many elements is written in parts, in time or not at all")
  func svgParts() throws {
    var page = try TestPage()
    for index in 0..<950 {
      page.add("position:absolute;left:\(index % 190);top:0;width:9;height:9;backgroundColor:red")
    }
    let text = String(decoding: try page.drawing().svg(width: 200), as: UTF8.self)
    #expect(text.contains(#"version="1.1""#) && !text.contains("<page") && !text.contains("</page"))
    #expect(text.replacing(" ", with: "").components(separatedBy: "rgb(100%,0%,0%)").count == 951)
    #expect(text.components(separatedBy: #"<g id="surface"#).count > 9)

    // What is slow is the writing.
    page = try TestPage()
    for index in 0..<3_000 {
      page.add(
        "position:absolute;left:\(index % 150);top:0;width:50;height:60;borderRadius:\(index % 20);opacity:0.5;"
          + "backgroundColor:red;boxShadow:0 0 \(index % 40)px black")
    }
    var drawing = page.drawing()
    drawing.timeLimit = .milliseconds(100)
    let start = ContinuousClock.now
    #expect(throws: PictureError.tooSlow(.milliseconds(100))) { try drawing.svg(width: 200) }
    #expect(drawing.timeLimit * 30 > ContinuousClock.now - start)

    page = try TestPage()
    let group = page.add("width:200;height:200;opacity:0.5;backgroundColor:red")
    for _ in 0..<2_001 { page.add("position:absolute;width:9;height:9;backgroundColor:red", to: group) }
    let error = #expect(throws: PictureError.self) { try page.drawing().svg(width: 200) }
    #expect(error?.description.contains("too many for SVG") ?? false)
  }

  @Test("the end of a file counts to the time of its drawing")
  func slowEnds() throws {
    var page = try TestPage()
    let canvas = try Canvas(svgWidth: 200, height: 200, scale: 1, byteLimit: 1 << 20)
    let over = Deadline(within: .zero, of: .seconds(3))
    #expect(throws: PictureError.tooSlow(.seconds(3))) { try canvas.svg(by: over) }
    #expect(throws: PictureError.tooSlow(.seconds(3))) { try page.draw().png(level: 1, by: over) }
    #expect(throws: PictureError.tooSlow(.seconds(3))) { try Self.noise(64, 99).encode(by: over) }
  }

  @Test("a part of a page is drawn, in any number of pixels")
  func areas() throws {
    var page = try TestPage()
    for color in ["red", "blue", "yellow", "red", "green"] {
      page.add("height:100;flexShrink:0;backgroundColor:\(color)")
    }
    let drawing = page.drawing(area: LayoutRect(x: 0, y: 100, width: 200, height: 300))
    let canvas = try drawing.draw(width: 50)
    #expect([10, 35, 60].map { canvas.color(25, $0) } == ["blue", "yellow", "red"])
    #expect(canvas.pixel(25, 75) == nil)
  }

  // MARK: What pages may try

  @Test("a picture that is too large is refused before there is memory for it")
  func tooLarge() throws {
    var page = try TestPage()
    page.add("width:100000;height:100000;backgroundColor:red")
    let areas = [
      (LayoutRect(x: 0, y: 0, width: 100_000, height: 100_000), 100_000.0),
      (.init(x: 0, y: 0, width: 10, height: 1e300), 10),
      (.init(x: 0, y: 0, width: 0, height: 0), 750), (.init(x: .nan, y: 0, width: 10, height: 10), 10),
      (.init(x: 0, y: 0, width: 10, height: 10), .infinity), (.init(x: 0, y: 0, width: 10, height: 10), .nan),
      (.init(x: 0, y: 0, width: 10, height: 10), 9_000), (.init(x: 0, y: 0, width: 10, height: 10), 0),
    ]
    for (area, width) in areas {
      let error = #expect(throws: PictureError.self) { _ = try page.drawing(area: area).png(width: width) }
      #expect(error?.description.contains("too large") ?? false)
      #expect(throws: PictureError.self) { _ = try page.drawing(area: area).svg(width: width) }
    }
    // The window of such a page is not.
    #expect(try page.draw().color(100, 100) == "red")
  }

  @Test("drawing ends when its time is over")
  func tooSlow() throws {
    var page = try TestPage()
    for _ in 0..<2_000 { page.add("position:absolute;width:200;height:200;boxShadow:inset 0 0 50px black") }
    var drawing = page.drawing()
    drawing.timeLimit = .milliseconds(20)
    #expect(throws: PictureError.tooSlow(.milliseconds(20))) { try drawing.draw(width: 2_000) }
  }

  @Test("styles beyond all measure draw something, and end nothing")
  func hostileStyles() throws {
    let values = [
      "1e308", "-1e308", "nan", "inf", "0.0000001", "99999999px", "-5", "1e6", "rotate(1e300deg)", "scale(1e300)",
      "scale(1e5)", "scale(0)", "skew(90deg)", "matrix(1,1,1,1,0,0)", "translate(1e300px,5%)",
      "0 0 1e300px 1e300px red", "1e9px 1e9px 400px -1e9px red", "inset 0 0 1e300px 50px red",
      "linear-gradient(1e300deg,red,blue)", "linear-gradient(red 1e300%,blue -1e300%)",
    ]
    let names = [
      "width", "height", "borderWidth", "borderRadius", "transform", "boxShadow", "fontSize", "lineHeight",
      "letterSpacing", "left", "top", "opacity", "backgroundImage", "transformOrigin", "lines", "padding",
    ]
    for name in names {
      var page = try TestPage()
      for value in values {
        for more in ["", "borderStyle:dotted;borderWidth:0.01;", "borderStyle:dashed;borderWidth:3;borderRadius:5;"] {
          let style =
            "position:absolute;width:50;height:50;backgroundColor:red;borderColor:blue;boxShadow:0 0 5px red;"
            + "\(more)\(name):\(value)"
          page.add(style, "text", ["value": .text("Hello 中 😀")])
          page.add(style, to: page.add(style))
        }
      }
      var drawing = page.drawing()
      drawing.timeLimit = .seconds(60)
      _ = try drawing.draw(width: 200)
    }
  }

  @Test("a deep page and a long list are drawn")
  func manyElements() throws {
    var page = try TestPage()
    var parent = "_root"
    for _ in 0..<3_000 { parent = page.add("width:200;height:50;transform:translateX(0)", to: parent) }
    page.add("width:200;height:50;backgroundColor:red", to: parent)
    let list = page.add("height:100", "list")
    for index in 0..<10_000 {
      page.add("height:10;backgroundColor:\(index % 2 == 0 ? "blue" : "yellow")", "cell", to: list)
    }
    let canvas = try page.draw()
    #expect(canvas.color(100, 25) == "red")
    #expect(canvas.color(100, 55) == "blue")
  }
}
