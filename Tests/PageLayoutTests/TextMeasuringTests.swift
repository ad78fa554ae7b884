import PageLayout
import Testing

@Suite("Texts with fixed advances")
struct TextMeasuringTests {
  private static func size(_ text: String, width: Double = .infinity, _ change: (inout TextStyle) -> Void = { _ in })
    -> LayoutSize
  {
    var style = TextStyle()
    (style.fontSize, style.lineHeight) = (20, 30)
    change(&style)
    return FixedAdvances().size(of: LayoutText(text, style: style), width: width)
  }

  @Test(
    "lines break after spaces, around wide characters, and in words that are wider than a line",
    arguments: [
      ("abc def", Double.infinity, 70.0, 30.0), ("abc def", 70, 70, 30), ("abc def", 69, 30, 60),
      ("abc def", 30, 30, 60),
      ("abcdef", 30, 30, 60), ("a bcdefgh", 30, 30, 120), ("\u{6587}\u{5B57}\u{6587}", 45, 40, 60),
      ("a\nb\n", 100, 10, 60),
      ("\n\n", 100, 0, 60), ("abc   ", 30, 30, 30), ("", 100, 0, 0), ("abc", 0, 10, 90), ("e\u{301}", 100, 10, 30),
    ])
  func breaking(_ text: String, _ width: Double, _ widest: Double, _ height: Double) {
    #expect(Self.size(text, width: width) == LayoutSize(width: widest, height: height))
  }

  @Test("a text has no more lines than it may")
  func lines() {
    #expect(Self.size("abc def ghi", width: 30) { $0.lines = 2 } == LayoutSize(width: 30, height: 60))
    #expect(Self.size("abc", width: 30) { $0.lines = 2 } == LayoutSize(width: 30, height: 30))
    let many = String(repeating: "a\n", count: 5_000)
    #expect(Self.size(many) { $0.lines = 2_000 } == LayoutSize(width: 10, height: 60_000))
    #expect(Self.size(many) { $0.lines = 6_000 } == LayoutSize(width: 10, height: 150_000))
  }

  @Test("in the width of its widest line a text has the same lines", arguments: 2..<60)
  func widest(_ width: Int) {
    let text = "some words of one and another length, \u{6587}\u{5B57} and a verylongwordthatmustbebroken"
    let size = Self.size(text, width: Double(width) * 10)
    #expect(Self.size(text, width: size.width) == size)
  }

  @Test("letters are apart, and a line without a height is as high as its font says")
  func styles() {
    #expect(Self.size("abc") { $0.letterSpacing = 2 } == LayoutSize(width: 36, height: 30))
    #expect(Self.size("abc") { $0.lineHeight = nil } == LayoutSize(width: 30, height: 24))
    #expect(Self.size("abc def", width: 50) { $0.wordBreak = .anywhere } == LayoutSize(width: 50, height: 60))
  }

  @Test("a text of 10 MB is measured in one go")
  func long() {
    let size = Self.size(String(repeating: "0123456789 abcdef ", count: 600_000), width: 750)
    #expect(size.width <= 750 && size.height.isFinite && size.height > 1e5)
  }
}
