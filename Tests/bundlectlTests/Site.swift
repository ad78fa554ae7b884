import Foundation
import PageKit
import PageTesting
import Testing

/// A folder of pages with a manifest, which an origin also serves.
struct Site {
  let origin: FaultOrigin
  let folder: TemporaryDirectory

  static func running<Result>(_ body: (Site) async throws -> Result) async throws -> Result {
    let origin = try await FaultOrigin.start()
    let site = Site(origin: origin, folder: try TemporaryDirectory())
    do {
      let result = try await body(site)
      try await origin.stop()
      return result
    } catch {
      try await origin.stop()
      throw error
    }
  }

  /// The script of a page that shows a text.
  static func script(_ text: String) -> String {
    """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createBody('div')
    d.documentElement.appendChild(b)
    b.appendChild(d.createElement('text', { attr: { value: '\(text)' } }))
    """
  }

  var manifest: String { origin.url(for: "/manifest.json") }
  var store: String { folder.file("store") }

  /// Serves these files; scripts are bundles.
  ///
  /// - Parameter etag: of the manifest; `nil` for the release's name.
  func publish(_ texts: [String: String], release: String = "r1", etag: String? = nil) throws {
    func entry(_ path: String, _ text: String) throws -> Manifest.Entry {
      let bytes = Array(text.utf8)
      let digests = try ContentDigests(of: bytes)
      origin.serve("/b/\(path)", bytes, etag: "\"\(digests.md5.hex.prefix(8))\"")
      return Manifest.Entry(
        name: Manifest.Entry.name(forPath: path), path: path, size: digests.size, md5: digests.md5)
    }
    let sorted = texts.sorted { $0.key < $1.key }
    let manifest = Manifest(
      release: release, sequence: 3, base: "b/",
      bundles: try sorted.filter { $0.key.hasSuffix(".js") }.map { try entry($0.key, $0.value) },
      files: try sorted.filter { !$0.key.hasSuffix(".js") }.map { try entry($0.key, $0.value) })
    origin.serve("/manifest.json", Array(try JSONEncoder().encode(manifest)), etag: "\"\(etag ?? release)\"")
  }

  func preload(_ more: String...) async throws -> Command.Result {
    try await Command.start(["preload", "--manifest", manifest, "--store", store, "--json"] + more).result()
  }

  /// Runs a command in the site's folder that must succeed.
  @discardableResult
  func run(_ arguments: String...) async throws -> Command.Result {
    let result = try await Command.start(arguments, in: folder.path).result()
    #expect(result.status == 0, "\(arguments): \(result.error)\(result.output)")
    return result
  }

  func write(_ text: String, to path: String) throws {
    let url = URL(fileURLWithPath: folder.file(path))
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }

  /// The file of a stored bundle.
  func blobPath(_ text: String) throws -> String {
    let hex = try ContentDigests(of: Array(text.utf8)).sha256.hex
    return "\(store)/blobs/\(hex.prefix(2))/\(hex)"
  }

  func damage(_ text: String) throws {
    let path = try blobPath(text)
    try FileManager.default.removeItem(atPath: path)
    try Data("damaged".utf8).write(to: URL(fileURLWithPath: path))
  }
}
