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

  static func layingOut() {
    var layout = LayoutTree(window: LayoutWindow())
    layout.createBody("_root", type: "div")
    layout.add("1", type: "text", style: ["fontSize": .number(48)], attributes: ["value": .text("Hello")], to: "_root")
    layout.update()
    print(layout.box("1")?.pageFrame as Any)
  }
}
