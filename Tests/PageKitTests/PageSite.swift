import Foundation
import PageKit
import PageTesting
import Releases

/// An origin with a release of two pages, and hosts for it.
struct PageSite {
  let origin: FaultOrigin
  let folder: TemporaryDirectory

  static func running(_ body: (PageSite) async throws -> Void) async throws {
    try await FaultOrigin.running { (origin: FaultOrigin) async throws in
      try await body(PageSite(origin: origin, folder: try TemporaryDirectory()))
    }
  }

  /// Publishes a release of two pages that show this word and a picture.
  ///
  /// - Parameters:
  ///   - signedAt: the time at which its manifest is to be signed, for a day.
  ///   - failing: a statement with which the first page begins.
  /// - Returns: the manifest's bytes.
  @discardableResult
  func publish(_ word: String, sequence: Int64 = 1, signedAt: Int64? = nil, failing: String = "") throws -> [UInt8] {
    func entry(_ path: String, _ text: String) throws -> Manifest.Entry {
      let bytes = Array(text.utf8)
      origin.serve("/b/\(path)", bytes)
      let name = Manifest.Entry.name(forPath: path)
      let digests = try ContentDigests(of: bytes)
      return Manifest.Entry(name: name, path: path, size: digests.size, md5: digests.md5, sha256: digests.sha256)
    }
    let source = """
      // { "framework": "Vanilla" }
      @@
      var d = weex.document, b = d.createBody('div')
      d.documentElement.appendChild(b)
      b.appendChild(d.createElement('text', { attr: { value: '\(word) ' + weex.config.bundleUrl.split('/').pop() } }))
      b.appendChild(d.createElement('image', { attr: { src: 'i.svg' } }))
      """
    var manifest = Manifest(
      release: word, sequence: sequence, base: "b/",
      bundles: try ["one.js", "two.js"].map { name in
        try entry(name, source.replacing("@@", with: name == "one.js" ? failing : "") + "\n// \(name)")
      },
      files: [try entry("i.svg", "<svg width='4' height='3'></svg>")])
    if let signedAt {
      manifest.setTimes(signed: SignedTime(seconds: signedAt), expires: SignedTime(seconds: signedAt + 86_400))
    }
    let bytes = Array(try JSONEncoder().encode(manifest))
    origin.serve("/manifest.json", bytes, etag: "\"\(word)\"")
    return bytes
  }

  func host(_ change: (inout HostConfiguration) -> Void = { _ in }) throws -> PageHost {
    try PageHost(configuration(change))
  }

  func configuration(_ change: (inout HostConfiguration) -> Void = { _ in }) throws -> HostConfiguration {
    var configuration = try HostConfiguration(
      manifest: origin.url(for: "/manifest.json"), store: StoreDirectory(folder.file("store")))
    configuration.pages.opening.policy = .networkFirst(deadline: .seconds(30))
    change(&configuration)
    return configuration
  }

  /// Returns the text that a page of the host shows.
  func shown(_ name: String, _ host: PageHost) async throws -> String {
    let page = await host.page()
    try await page.renderByURL(origin.url(for: "/b/\(name).js"))
    await page.settle(within: .seconds(60))
    let tree = await page.tree
    await page.destroy()
    let elements = tree.elements.values
    let text = elements.compactMap { $0.attributes["value"]?.string }.joined()
    let picture = elements.contains { element in
      if case .loaded? = element.image { true } else { false }
    }
    return text + (picture ? " with its picture" : "")
  }
}
