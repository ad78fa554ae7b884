import PageKit

/// Samples of "Layout and pictures", and the examples in the documentation of layouts.
enum LayoutSamples {
  static func boxes(of page: PageInstance) async {
    let layout = await page.layout
    if let price = await page.tree.first(.id("price")), let box = layout.box(price.ref) { print(box.pageFrame) }
    for box in layout.visibleBoxes() { print(box.type, box.pageFrame) }
    print(layout.element(at: LayoutPoint(x: 375, y: 100)) ?? "nothing")
  }

  static func changes(of page: PageInstance) async {
    for await change in await page.layoutChanges {
      for box in change.boxes { print(box.ref, box.pageFrame) }
      for ref in change.removed { print(ref, "is gone") }
    }
  }

  static func tapping(_ page: PageInstance) async throws {
    try await page.tap(x: 375, y: 100)
  }

  static func scrolling(_ page: PageInstance, _ list: String) async throws {
    try await page.fireEvent(list, "scroll", ["contentOffset": ["x": 0, "y": -500]])
  }

  static func drawing(_ page: PageInstance) async throws -> [UInt8] {
    let file = try await page.picture(PictureOptions(.png, screen: .init("375x812@2")))
    return file
  }

  struct Monospaced: TextMeasuring {
    func size(of text: LayoutText, width: Double) -> LayoutSize {
      let (letter, line) = (text.style.fontSize * 0.6, text.style.lineHeight ?? text.style.fontSize * 1.2)
      let count = Double(text.spans.reduce(0) { $0 + $1.text.count })
      guard count > 0 else { return .zero }
      let perLine = max(1, min(count, (width / letter).rounded(.down)))
      return LayoutSize(width: perLine * letter, height: (count / perLine).rounded(.up) * line)
    }
  }

  static func layingOut() {
    var layout = LayoutTree(window: LayoutWindow())
    layout.createBody("_root", type: "div")
    layout.add("1", type: "text", style: ["fontSize": .number(48)], attributes: ["value": .text("Hello")], to: "_root")
    layout.update()
    print(layout.box("1")?.pageFrame as Any)
  }
}
