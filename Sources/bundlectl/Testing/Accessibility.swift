import Foundation
import PageKit

/// A rule for pages that everybody can use.
enum AccessibilityRule: String, CaseIterable, Sendable {
  /// A picture has `alt` or `ariaLabel`; `alt: ""` says that it is only decoration.
  case pictureName = "picture-name"
  /// An element that listens to `click` has a text, or a name of its own.
  case clickName = "click-name"
  /// A text and the colour behind it have a contrast of at least 4.5 (WCAG 2.2 §1.4.3), where both are known.
  case contrast
  /// An element that listens to `click` is at least 88 units wide and high, where its style says it.
  case touchSize = "touch-size"
  /// A text is at least 20 units high.
  case textSize = "text-size"

  static let leastContrast = 4.5
  static let leastTouch = 88.0
  static let leastText = 20.0

  /// A violation of a rule: the rule, the element and the reason.
  struct Finding: Hashable, Sendable, CustomStringConvertible {
    let rule: AccessibilityRule
    /// The element's place, such as `div > list[2] > cell[1]`.
    let path: String
    let reason: String

    var description: String { "\(rule.rawValue): \(path): \(reason)" }
  }

  /// The findings in a tree, in the order in which the page shows the elements. A `recycle-list` has its cells.
  static func findings(in tree: ElementTree, except exceptions: [AccessibilityException] = []) -> [Finding] {
    let shown = tree.expanded
    guard let root = shown.root else { return [] }
    let allowed = exceptions.map { exception in
      (rule: exception.rule, refs: exception.selector.map { Set($0.all(in: shown).map(\.ref)) })
    }
    var findings: [Finding] = []
    var hidden: Set<String> = []
    for element in shown.preorder(from: root) {
      // Parents come first.
      guard !element.isHidden, element.parent.map({ !hidden.contains($0) }) ?? true else {
        hidden.insert(element.ref)
        continue
      }
      for (rule, reason) in faults(of: element, in: shown) {
        let isAllowed = allowed.contains { $0.rule == rule && ($0.refs?.contains(element.ref) ?? true) }
        if !isAllowed { findings.append(Finding(rule: rule, path: shown.path(of: element), reason: reason)) }
      }
    }
    return findings
  }

  private static func faults(
    of element: ElementTree.Element, in tree: ElementTree
  ) -> [(rule: AccessibilityRule, reason: String)] {
    var faults: [(rule: AccessibilityRule, reason: String)] = []
    if ["image", "img"].contains(element.type), element.ownName == nil {
      faults.append((.pictureName, "the picture has neither \"alt\" nor \"ariaLabel\""))
    }
    if element.events.contains("click") {
      if !element.hasName(in: tree) {
        faults.append((.clickName, "the element listens to \"click\" and has neither a text nor \"ariaLabel\""))
      }
      for side in ["width", "height"] {
        guard let size = element.length(side), size < leastTouch else { continue }
        faults.append((.touchSize, "its \(side) is \(text(size)) units, expected at least \(text(leastTouch))"))
      }
    }
    guard element.type == "text" else { return faults }
    if let size = element.length("fontSize"), size < leastText {
      faults.append((.textSize, "its fontSize is \(text(size)) units, expected at least \(text(leastText))"))
    }
    if let contrast = contrast(of: element, in: tree), contrast < leastContrast {
      // Cut, not rounded: 4.499 is below the limit.
      let shown = text((contrast * 100).rounded(.down) / 100)
      faults.append((.contrast, "its contrast is \(shown), expected at least \(text(leastContrast))"))
    }
    return faults
  }

  /// The contrast of a text with the nearest background; `nil` if one of the colours is unknown.
  private static func contrast(of element: ElementTree.Element, in tree: ElementTree) -> Double? {
    guard let text = element.style["color"]?.string.flatMap({ Color($0) }), text.alpha == 1 else { return nil }
    var behind: ElementTree.Element? = element
    while let next = behind {
      if next.hasUnknownPaint { return nil }
      if let written = next.style["backgroundColor"] {
        guard let color = written.string.flatMap({ Color($0) }) else { return nil }
        if color.alpha == 1 { return contrast(text, color) }
        if color.alpha > 0 { return nil }
      }
      behind = next.parent.flatMap { tree[$0] }
    }
    return nil
  }

  /// WCAG 2.2, "contrast ratio": from 1 to 21.
  static func contrast(_ first: Color, _ second: Color) -> Double {
    let (one, other) = (luminance(first), luminance(second))
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)
  }

  /// WCAG 2.2, "relative luminance".
  private static func luminance(_ color: Color) -> Double {
    func linear(_ part: Double) -> Double { part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4) }
    return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue)
  }

  private static func text(_ number: Double) -> String { ScriptValue.number(number).jsonText }
}

extension ElementTree.Element {
  /// The name that the page gives the element; empty for decoration, `nil` for none.
  fileprivate var ownName: String? {
    ["ariaLabel", "aria-label", "alt"].lazy.compactMap { attributes[$0]?.plainText }.first
  }

  /// `true` for elements that assistive technology passes over, with those in them.
  fileprivate var isHidden: Bool {
    ["ariaHidden", "aria-hidden"].contains { attributes[$0]?.bool == true || attributes[$0]?.string == "true" }
  }

  /// Returns `true` if the element, or one in it, has a name or a text.
  fileprivate func hasName(in tree: ElementTree) -> Bool {
    tree.preorder(from: ref).contains { element in
      ["ariaLabel", "aria-label", "alt", "value", "placeholder"].contains {
        element.attributes[$0]?.plainText.map { !$0.isEmpty } ?? false
      }
    }
  }

  /// A length in units of the design; `nil` for other values, such as shares.
  fileprivate func length(_ name: String) -> Double? {
    guard let value = style[name] else { return nil }
    guard let text = value.string else { return value.number.flatMap { $0.isFinite ? $0 : nil } }
    return Double(text.hasSuffix("px") ? String(text.dropLast(2)) : text).flatMap { $0.isFinite ? $0 : nil }
  }

  /// `true` if what is behind the element's text is not a colour, or shines through.
  fileprivate var hasUnknownPaint: Bool {
    if let opacity = style["opacity"], opacity.plainText != "1" { return true }
    return style["backgroundImage"].map { !$0.isNothing } ?? false
  }
}
