import Foundation
import HTTPTransport
import PageTesting
import Testing

@testable import PageRuntime

/// Runs the pages in `bundles/`.
struct SampleTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("bundles")

  /// Everything in the folder, at `/bundles/`.
  static func serve(_ fixture: PageFixture) throws {
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    for path in files {
      guard let data = FileManager.default.contents(atPath: folder.appendingPathComponent(path).path) else { continue }
      fixture.origin.serve("/bundles/\(path)", Array(data), contentType: "", headers: [.cacheControl: "max-age=600"])
    }
  }

  static func open(_ name: String, _ fixture: PageFixture) async throws -> PageInstance {
    let page = await PageInstance(environment: fixture.environment)
    try await page.renderByURL(fixture.origin.url(for: "/bundles/\(name).js"))
    #expect(await page.settle(within: .seconds(60)))
    return page
  }

  static let names = ["home", "catalogue", "product", "article", "form", "notes", "weather", "settings"]

  @Test("every sample renders with its pictures", arguments: names)
  func samples(_ name: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      try Self.serve(fixture)
      let page = try await Self.open(name, fixture)
      #expect(await page.phase == .live)
      let elements = await page.tree.elements.values
      #expect(elements.count > 10)
      for element in elements where element.type == "image" && element.attributes["src"] != nil {
        guard case .loaded(_, _, let size?, _)? = element.image, size.width > 0 else {
          Issue.record("\(name): \(String(describing: element.image))")
          continue
        }
      }
      #expect(await page.exceptions == [])
    }
  }

  @Test("the weather page shows the data that it fetched")
  func weather() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      try Self.serve(fixture)
      let page = try await Self.open("weather", fixture)
      let texts = await page.tree.elements.values.compactMap { $0.attributes["value"]?.string }
      #expect(texts.contains("Harbour Town"))
      await page.destroy()
    }
  }

  @Test("the catalogue changes with a tap")
  func catalogue() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      try Self.serve(fixture)
      let page = try await Self.open("catalogue", fixture)
      let before = await page.tree
      let chips = before.preorder(from: before.root ?? "").filter { $0.events.contains("click") }
      for chip in chips.prefix(3) { try await page.fireEvent(chip.ref, "click") }
      #expect(await page.tree != before)
      #expect(await page.exceptions == [])
    }
  }
}
