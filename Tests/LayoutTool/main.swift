import Foundation
import PageLayout

// Lays out trees that come as lines of JSON, and answers each with a line: the boxes of its elements, parents first.
//
//     {"rtl": false, "root": {"style": {"width": "100px"}, "text": "…", "children": […]}}
//     [[x, y, width, height], …]
//
// The root is an absolute box on a screen without bounds to speak of. Places and sizes are rounded to whole units.

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

while let line = readLine() {
  let test = (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any] ?? [:]
  let data = (try? JSONSerialization.data(withJSONObject: boxes(test))) ?? Data("[]".utf8)
  print(String(decoding: data, as: UTF8.self))
}
