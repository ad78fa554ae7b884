import Foundation
import HTTPTransport
import PageTesting
import Testing

@testable import PageRuntime

/// The previews of the pages in `bundles/`, in a browser.
@Suite(.serialized) struct SamplesInBrowserTests {
  @Test("every sample looks in a browser as its tree says", arguments: SampleTests.names)
  func samples(_ name: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      try SampleTests.serve(fixture)
      let page = try await SampleTests.open(name, fixture)
      let tree = await page.tree
      let html = await page.preview().html
      await page.destroy()
      try await fixture.origin.stop()
      // The server is gone: everything must be in the document.
      let shown = try await Chromium.open(html, height: Self.heights[name] ?? 1_600)
      #expect(shown.boxes.map(\.ref) == tree.preorder(from: tree.root ?? "").map(\.ref))
      #expect(shown.strangers == [])
      #expect(shown.requests == [])
      for box in shown.boxes where box.isShown && !box.isCutAway {
        try Self.check(box, try #require(tree[box.ref]), name)
      }
      // Most of it is visible.
      #expect(shown.boxes.count { $0.isShown && !$0.isCutAway } > shown.boxes.count / 2)
    }
  }

  /// The windows of samples with a long list, which scrolls in one of a screen's height.
  private static let heights = ["catalogue": 40_000, "article": 8_000]

  /// Checks that an element is not empty, not outside the page, and has the tree's contents.
  private static func check(_ box: Chromium.Box, _ element: ElementTree.Element, _ name: String) throws {
    let text = element.attributes["value"]?.plainText ?? ""
    let label =
      "\(name): \(element.type) #\(box.ref) \"\(text.prefix(30))\" \(box.x),\(box.y) \(box.width)×\(box.height)"
    #expect(box.left >= -0.5 && box.right <= 750.5 && box.y >= -0.5, "\(label)")
    #expect(box.width >= 1 && box.height >= 1, "\(label)")
    switch element.type {
    case "text", "span":
      #expect(box.text == text, "\(label)")
      #expect(!box.overflows || element.style["lines"] != nil, "\(label)")
    case "input", "textarea":
      #expect(box.value == text, "\(label)")
      #expect(box.placeholder == element.attributes["placeholder"]?.plainText ?? "", "\(label)")
    case "image": #expect(box.naturalWidth ?? 0 > 0, "\(label)")
    default: #expect(box.text == "", "\(label)")
    }
  }
}
