import ScriptEngine

/// The elements of a page whose heights follow from the screen's. A pure value.
///
/// On a device the body is as high as the screen. A list or scroller without a height takes what the others leave of it,
/// and scrolls: what comes after it stays on the screen. A page without one scrolls as a whole in a preview.
struct ScreenLayout {
  /// The scrollers whose height follows from the screen's.
  private(set) var scrollers: Set<String> = []
  /// These scrollers and the elements around them that may not grow with their contents.
  private(set) var bounded: Set<String> = []
  /// The elements with a share of a column's height and a height of their own, which counts since the column is as high as
  /// its elements.
  private(set) var sized: Set<String> = []
  /// `true` if the body is as high as the window.
  private(set) var isFilled = false

  static let scrollerTypes: Set<String> = [
    "scroller", "list", "recycle-list", "waterfall", "vlist", "recycler", "simplelist",
  ]

  /// - Parameter filling: the refs of elements that show pages as high as their screen.
  init(_ tree: ElementTree, filling: Set<String> = []) {
    guard let root = tree.root else { return }
    func fills(_ element: ElementTree.Element) -> Bool {
      Self.isScroller(element) || filling.contains(element.ref)
    }
    // How each element has a height that does not follow from its contents; parents come before their children.
    var heights: [String: Height] = [root: .screen]
    let elements = tree.preorder(from: root)
    for element in elements where !element.children.isEmpty || fills(element) {
      if let parent = element.parent.flatMap({ tree[$0] }) {
        heights[element.ref] = Height(of: element, in: parent, heights[parent.ref])
      } else if element.ownHeight {
        heights[element.ref] = .own
      }
      guard element.ref != root, fills(element), let height = heights[element.ref], height != .own else { continue }
      if Self.isScroller(element) { scrollers.insert(element.ref) }
      bind(element, tree, heights)
    }
    for element in elements where element.has("height") && element.grows {
      guard let parent = element.parent.flatMap({ tree[$0] }), !parent.isRow, heights[parent.ref] == nil else {
        continue
      }
      sized.insert(element.ref)
    }
  }

  static func isScroller(_ element: ElementTree.Element) -> Bool {
    scrollerTypes.contains(element.type) && element.attributes["scrollDirection"]?.plainText != "horizontal"
  }

  /// Bounds an element and those around it, up to one whose height is its own or that is bounded already.
  private mutating func bind(
    _ scroller: ElementTree.Element, _ tree: ElementTree, _ heights: [String: Height]
  ) {
    var next: ElementTree.Element? = scroller
    while let element = next, bounded.insert(element.ref).inserted {
      switch heights[element.ref] {
      case .own: return
      case .screen where element.parent == nil:
        isFilled = true
        return
      default: next = element.position == "fixed" ? nil : element.parent.flatMap { tree[$0] }
      }
    }
  }

  /// The reason why an element has a height that does not follow from its contents.
  private enum Height {
    /// Its style says so.
    case own
    /// Directly or not, it follows from the screen's height.
    case screen

    /// - Parameter outer: the reason of the parent; `nil` if its height follows from its contents.
    init?(of element: ElementTree.Element, in parent: ElementTree.Element, _ outer: Height?) {
      if element.ownHeight {
        self = .own
        return
      }
      let isPinned = element.has("top") && element.has("bottom")
      switch element.position {
      case "fixed": guard isPinned else { return nil }
      case "absolute": guard isPinned, outer != nil else { return nil }
      default:
        guard outer != nil, !ScreenLayout.isScroller(parent) else { return nil }
        if parent.isRow {
          guard parent.stretches, element.isStretched else { return nil }
        } else {
          guard element.grows else { return nil }
        }
      }
      self = .screen
    }
  }
}

extension ElementTree.Element {
  /// The value of a property, which scripts write in either way.
  fileprivate func text(_ name: String, _ other: String? = nil) -> String? {
    (style[name] ?? other.flatMap { style[$0] })?.plainText.flatMap { $0.isEmpty ? nil : $0 }
  }

  fileprivate func has(_ name: String) -> Bool { text(name) != nil }
  fileprivate var position: String? { text("position") }
  /// A share of the parent's height is none of its own.
  fileprivate var ownHeight: Bool {
    [text("height"), text("maxHeight", "max-height")].contains { $0.map { !$0.hasSuffix("%") } ?? false }
  }
  fileprivate var isRow: Bool { text("flexDirection", "flex-direction")?.hasPrefix("row") ?? false }
  fileprivate var stretches: Bool {
    ["stretch", nil].contains(text("alignItems", "align-items"))
      && ["nowrap", nil].contains(text("flexWrap", "flex-wrap"))
  }
  fileprivate var isStretched: Bool { ["stretch", "auto", nil].contains(text("alignSelf", "align-self")) }
  /// `true` if the element takes a share of the height that is left in its column. Scrollers do by themselves.
  fileprivate var grows: Bool {
    if let share = text("flex") ?? text("flexGrow", "flex-grow") {
      return (share.split(separator: " ").first.flatMap { Double($0) } ?? 0) > 0
    }
    return text("height") == "100%" || ScreenLayout.isScroller(self)
  }
}
