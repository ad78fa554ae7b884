import Foundation
import PageLayout
import Testing

@testable import PagePictures

struct ElementPaintTests {
  @Test(
    "a colour is read as CSS has it",
    arguments: [
      ("#f00", [255, 0, 0, 255]), ("#F008", [255, 0, 0, 136]), ("#00ff00", [0, 255, 0, 255]),
      ("#0000ff80", [0, 0, 255, 128]), ("rgb(1, 2, 3)", [1, 2, 3, 255]),
      ("rgba(255,255,255,0.5)", [255, 255, 255, 128]),
      ("RGB(100% 0% 50% / 50%)", [255, 0, 128, 128]), ("rgb(300, -5, 0)", [255, 0, 0, 255]),
      ("hsl(120, 100%, 50%)", [0, 255, 0, 255]), ("hsla(0, 0%, 50%, 0.25)", [128, 128, 128, 64]),
      ("hsl(-120, 100%, 25%)", [0, 0, 128, 255]), (" RebeccaPurple ", [102, 51, 153, 255]),
      ("transparent", [0, 0, 0, 0]),
      ("", nil), ("#ff", nil), ("#ggg", nil), ("#+ff", nil), ("#-00", nil), ("rgb(1,2)", nil), ("rgb(a,b,c)", nil),
      ("url(x)", nil),
      ("redd", nil), ("rgb(1,2,3", nil), ("rgb(nan,inf,0)", nil), ("#", nil),
    ] as [(String, [Int]?)])
  func colors(_ text: String, _ expected: [Int]?) {
    let color = Color(text)
    #expect(color.map { [$0.red, $0.green, $0.blue, $0.alpha].map { Int(($0 * 255).rounded()) } } == expected)
  }

  private func paint(_ style: [String: LayoutValue]) -> ElementPaint { ElementPaint(style) }

  @Test("a gradient has its direction, and its stops have places")
  func gradients() {
    func gradient(_ text: String) -> ElementPaint.Gradient? { paint(["backgroundImage": .text(text)]).gradient }
    let plain = gradient("linear-gradient(to right, red, blue)")
    #expect(plain?.direction == .angle(.pi / 2))
    #expect(plain?.stops.map(\.place) == [0, 1])
    #expect(gradient("linear-gradient(red, rgba(0, 0, 0, 0.5) 80%, blue)")?.stops.map(\.place) == [0, 0.8, 1])
    let ordered = gradient("linear-gradient(90deg, red 12.5%, lime, blue 50%, black 20%)")
    #expect(ordered?.stops.map(\.place) == [0.125, 0.3125, 0.5, 0.5])
    #expect(gradient("linear-gradient(to bottomright, red, blue)")?.direction == .corner(x: 1, y: 1))
    #expect(gradient("linear-gradient(to top left, red, blue)")?.direction == .corner(x: -1, y: -1))
    #expect(gradient("linear-gradient(to top, red)")?.stops.count == 2)
    for text in [
      "linear-gradient()", "linear-gradient(to right)", "linear-gradient(to right, url(x))", "linear-gradient(",
      "radial-gradient(red, blue)",
    ] {
      #expect(gradient(text) == nil, "\(text)")
    }
  }

  @Test("borders have a colour and a line for each side, and corners a radius")
  func borders() {
    let mixed = paint([
      "borderColor": .text("red"), "borderTopColor": .text("blue"), "borderStyle": .text("dashed"),
      "border-left-style": .text("dotted"), "borderRadius": .text("10px 20wx"), "borderTopRightRadius": .number(5),
    ])
    #expect(mixed.borders.map(\.color) == [Color(0x0000FF), Color(0xFF0000), Color(0xFF0000), Color(0xFF0000)])
    #expect(mixed.borders.map(\.line) == [.dashed, .dashed, .dashed, .dotted])
    #expect(mixed.radii == [.units(10), .units(5), .units(10), .units(40)])
    #expect(paint(["border": .text("1px solid rgba(0, 0, 0, 0.5)")]).borders[2].color.alpha == 0.5)
    for text in ["/", "//", " / 5px"] {
      #expect(paint(["borderRadius": .text(text)]).radii == paint([:]).radii, "\(text)")
    }
    #expect(paint(["borderRadius": .text("50%")]).radii == [ElementPaint.Length](repeating: .share(0.5), count: 4))
  }

  @Test("shadows and transforms are lists")
  func lists() {
    let shadows = paint(["boxShadow": .text("0 2px 8px rgba(0, 0, 0, 0.2), inset red 1px 1px 0 -2px")]).shadows
    #expect(shadows.map(\.blur) == [8, 0])
    #expect(shadows.map(\.isInset) == [false, true])
    #expect(shadows.last?.spread == -2)
    #expect(paint(["boxShadow": .text("none")]).shadows.isEmpty)
    let changes = paint(["transform": .text("translate(10px, 50%) rotate(90deg) scaleX(2)")]).transform.changes
    #expect(changes == [.translate(x: .units(10), y: .share(0.5)), .rotate(.pi / 2), .scale(x: 2, y: 1)])
    #expect(paint(["transform": .text("none")]).transform.isEmpty)
    let origin = paint(["transformOrigin": .text("right 10px")]).transform
    #expect(origin.originX == .share(1) && origin.originY == .units(10))
  }

  @Test(
    "a value that is none is as if it were not there",
    arguments: ["", "((((", "))))", "nan", "1e999", String(repeating: "(", count: 100_000), "#", ",,,", "a b c d e"])
  func invalidValues(_ text: String) {
    let names = [
      "backgroundColor", "backgroundImage", "background", "opacity", "borderColor", "borderStyle", "borderRadius",
      "borderTopLeftRadius", "boxShadow", "transform", "transformOrigin", "color", "textDecoration",
    ]
    let style = Dictionary(uniqueKeysWithValues: names.map { ($0, LayoutValue.text(text)) })
    #expect(ElementPaint(style) == ElementPaint())
    let numbers = Dictionary(uniqueKeysWithValues: names.map { ($0, LayoutValue.number(.nan)) })
    #expect(ElementPaint(numbers) == ElementPaint())
  }
}
