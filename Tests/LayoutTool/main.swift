import Foundation
import PageLayout
import PagePictures

// Lays out trees that come as lines of JSON, and answers each with a line: the boxes of its elements, parents first.
//
//     {"rtl": false, "root": {"style": {"width": "100px"}, "text": "…", "children": […]}}
//     [[x, y, width, height], …]
//
// The root is an absolute box on a screen without bounds to speak of. Places and sizes are rounded to whole units.
//
// A page, as `bundlectl render --json` prints its elements, is answered with the boxes by ref, as they are on the page:
//
//     {"page": {"ref": "_root", "type": "div", "style": {…}, "attr": {…}, "children": […]},
//      "screen": [375, 812], "design": 750, "font": "DejaVu Sans Mono", "line": 1.2}
//     {"_root": [x, y, width, height], …}
//
// The screen is in points. All texts of the page have the font, and lines of the part of their size that `line` says
// unless they have a `lineHeight`.

/// The measurer of Yoga's generated tests: characters are 10 wide and 10 high, and words are not broken.
struct TenByTen: TextMeasuring {
  func size(of text: LayoutText, width: Double) -> LayoutSize {
    if text.style.fontFamily == "ahem" { return ahem(text, width: width) }
    let words = text.spans.flatMap { $0.text.split(separator: " ", omittingEmptySubsequences: false) }
    let whole = Double(text.spans.reduce(0) { $0 + $1.text.count }) * 10
    let longest = Double(words.map(\.count).max() ?? 0) * 10
    // The font's name says in which direction the text's element lays out.
    let lineWidth = text.style.fontFamily == "column" ? min(whole, width) : max(longest, min(whole, width))
    if whole <= lineWidth { return LayoutSize(width: whole, height: 10) }
    var lines = 1.0
    var line = 0.0
    for word in words.map({ Double($0.count) * 10 }) {
      if word > lineWidth {
        if line > 0 { lines += 1 }
        lines += 1
        line = 0
      } else if line + word <= lineWidth {
        line += word + 10
      } else {
        lines += 1
        line = word + 10
      }
    }
    return LayoutSize(width: min(whole, width), height: (line == 0 ? lines - 1 : lines) * 10)
  }
}

extension TenByTen {
  /// The measurer of Taffy's: spaces of no width are where lines may break.
  private func ahem(_ text: LayoutText, width: Double) -> LayoutSize {
    let words = text.spans.flatMap { $0.text.unicodeScalars.split(separator: "\u{200B}") }.map { Double($0.count) * 10 }
    var (lines, line, widest) = (1.0, 0.0, 0.0)
    for word in words {
      if line > 0, line + word > width {
        lines += 1
        line = 0
      }
      line += word
      widest = max(widest, line)
    }
    return LayoutSize(width: widest, height: words.isEmpty ? 0 : lines * 10)
  }
}

func boxes(_ test: [String: Any]) -> [[Double]] {
  var window = LayoutWindow()
  (window.width, window.height, window.unitsPerPoint) = (100_000, 100_000, 1)
  window.isRightToLeft = test["rtl"] as? Bool ?? false
  var tree = LayoutTree(window: window, measurer: TenByTen())
  tree.createBody("body", type: "div")
  var refs: [String] = []
  func add(_ element: [String: Any], to parent: String) {
    let ref = String(refs.count)
    refs.append(ref)
    let style = (element["style"] as? [String: String] ?? [:]).mapValues { LayoutValue.text($0) }
    if let text = element["text"] as? String {
      tree.add(ref, type: "text", style: style, attributes: ["value": .text(text)], to: parent)
    } else {
      tree.add(ref, type: element["type"] as? String ?? "div", style: style, to: parent)
    }
    for child in element["children"] as? [[String: Any]] ?? [] { add(child, to: ref) }
  }
  add(test["root"] as? [String: Any] ?? [:], to: "body")
  tree.update()
  // As Yoga does: places in the parent, and sizes so that neighbours on the page meet.
  let isExact = test["exact"] as? Bool ?? false
  func rounded(_ number: Double) -> Double { isExact ? number : (number + 0.5 + 1e-4).rounded(.down) }
  return refs.map { ref in
    guard let box = tree.box(ref) else { return [] }
    let (page, frame) = (box.pageFrame, box.frame)
    return [
      rounded(frame.x), rounded(frame.y), rounded(page.maxX) - rounded(page.x), rounded(page.maxY) - rounded(page.y),
    ]
  }
}

/// The system's fonts, but one font and one height of lines for all texts.
struct OneFont: TextMeasuring {
  let texts: PageTexts
  let font: String
  let line: Double

  func size(of text: LayoutText, width: Double) -> LayoutSize {
    var text = text
    func plain(_ style: TextStyle) -> TextStyle {
      var style = style
      style.fontFamily = font
      if style.lineHeight == nil { style.lineHeight = style.fontSize * line }
      return style
    }
    text.style = plain(text.style)
    for index in text.spans.indices { text.spans[index].style = plain(text.spans[index].style) }
    return texts.size(of: text, width: width)
  }
}

func values(_ members: Any?) -> [String: LayoutValue] {
  (members as? [String: Any] ?? [:]).mapValues { value in
    switch value {
    case let text as String: .text(text)
    case let number as NSNumber: .number(number.doubleValue)
    default: .text("")
    }
  }
}

func pageBoxes(_ page: [String: Any], _ test: [String: Any], _ fonts: SystemFonts) -> [String: [Double]] {
  let screen = test["screen"] as? [Double] ?? [375, 667]
  let window = LayoutWindow(
    points: LayoutSize(width: screen.first ?? 0, height: screen.last ?? 0),
    viewPortWidth: test["design"] as? Double ?? 750)
  let measurer = OneFont(
    texts: PageTexts(fonts), font: test["font"] as? String ?? "sans-serif", line: test["line"] as? Double ?? 1.2)
  var tree = LayoutTree(window: window, measurer: measurer)
  var refs: [String] = []
  func add(_ element: [String: Any], to parent: String?) {
    guard let ref = element["ref"] as? String, let type = element["type"] as? String else { return }
    refs.append(ref)
    let (style, attributes) = (values(element["style"]), values(element["attr"]))
    if let parent {
      tree.add(ref, type: type, style: style, attributes: attributes, to: parent)
    } else {
      tree.createBody(ref, type: type, style: style, attributes: attributes)
    }
    for child in element["children"] as? [[String: Any]] ?? [] { add(child, to: ref) }
  }
  add(page, to: nil)
  tree.update()
  var boxes: [String: [Double]] = [:]
  for ref in refs {
    if let frame = tree.box(ref)?.pageFrame { boxes[ref] = [frame.x, frame.y, frame.width, frame.height] }
  }
  return boxes
}

while let line = readLine() {
  let test = (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any] ?? [:]
  let answer: Any
  if let page = test["page"] as? [String: Any] {
    answer = pageBoxes(page, test, try SystemFonts.shared())
  } else {
    answer = boxes(test)
  }
  let data = (try? JSONSerialization.data(withJSONObject: answer)) ?? Data("[]".utf8)
  print(String(decoding: data, as: UTF8.self))
}
