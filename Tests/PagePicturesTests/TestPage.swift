import CCairo
import Foundation
import PageLayout
import Testing

@testable import PagePictures

/// The fonts that the tests measure with, installed by `scripts/setup test`.
enum TestFonts {
  static let names = ["DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf"]
  static let folder = "/usr/share/fonts/truetype/dejavu/"
  static let chinese = "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"
  static let emoji = "/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf"

  static let areThere =
    pk_load_cairo() == nil
    && (names.map { folder + $0 } + [chinese, emoji]).allSatisfy { FileManager.default.fileExists(atPath: $0) }

  static func bytes(_ name: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: URL(fileURLWithPath: folder + name)))
  }
}

extension Trait where Self == ConditionTrait {
  /// Leaves a test out where cairo, Pango or the fonts are missing.
  static var drawn: Self {
    .enabled(
      if: TestFonts.areThere,
      "needs libpangocairo-1.0-0, fonts-dejavu-core, fonts-noto-cjk and fonts-noto-color-emoji: run scripts/setup test")
  }

  /// Leaves a test out where the library of a decoder is missing.
  static func decoded(_ decoder: pk_decoder) -> Self {
    .enabled(if: TestFonts.areThere && pk_load_decoder(decoder) == nil, "needs the library of this decoder")
  }
}

/// A page of 200 x 200 units with a picture of as many pixels.
struct TestPage {
  typealias Style = [String: LayoutValue]

  let texts: PageTexts
  var layout: LayoutTree
  private(set) var looks: [String: PageDrawing.Look] = [:]
  var pictures: [String: DecodedPicture] = [:]

  init(width: Double = 200, height: Double = 200) throws {
    texts = PageTexts(try SystemFonts.shared())
    var window = LayoutWindow()
    (window.width, window.height) = (width, height)
    layout = LayoutTree(window: window, measurer: texts)
    layout.createBody("_root", type: "div")
  }

  /// Adds an element; styles are written as in CSS, with the names of scripts.
  @discardableResult
  mutating func add(
    _ style: String, _ type: String = "div", to parent: String = "_root", _ attributes: Style = [:]
  ) -> String {
    var values: Style = [:]
    for declaration in style.split(separator: ";") {
      let parts = declaration.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      values[parts[0]] = Double(parts[1]).map { .number($0) } ?? .text(parts[1])
    }
    let ref = "\(looks.count)"
    layout.add(ref, type: type, style: values, attributes: attributes, to: parent)
    looks[ref] = PageDrawing.Look(style: values, attributes: attributes)
    return ref
  }

  mutating func drawing(area: LayoutRect? = nil) -> PageDrawing {
    layout.update()
    let (looks, pictures) = (looks, pictures)
    return PageDrawing(
      layout, area: area, texts: texts, look: { looks[$0] ?? .init() }, picture: { ref, _ in pictures[ref] })
  }

  mutating func draw() throws -> Canvas { try drawing().draw(width: layout.window.width) }
}

extension Canvas {
  /// The colour of a pixel as a name, or as `r,g,b`.
  func color(_ x: Int, _ y: Int) -> String {
    guard let pixel = pixel(x, y) else { return "none" }
    let names = [
      "255,255,255": "white", "0,0,0": "black", "255,0,0": "red", "0,128,0": "green", "0,0,255": "blue",
      "255,255,0": "yellow",
    ]
    let text = pixel.prefix(3).map(String.init).joined(separator: ",")
    return names[text] ?? text
  }

  /// The number of pixels in a part that are not white.
  func inked(_ columns: Range<Int>, _ rows: Range<Int>) -> Int {
    rows.reduce(0) { count, y in count + columns.count { color($0, y) != "white" } }
  }
}
