import ArgumentParser
import Foundation
import PageKit

/// The subject of a rendering: a local file, or a bundle as an app opens it.
enum RenderTarget: Hashable {
  case file(PageURL)
  case bundle(PageURL)
  case named(String)

  init(_ argument: String) throws {
    if argument.contains("://") {
      guard let url = PageURL(argument) else {
        throw ValidationError(PageURL.fault(inArgument: argument, field: "The bundle's URL"))
      }
      self = url.isFile ? .file(url) : .bundle(url)
      return
    }
    var isFolder: ObjCBool = false
    if FileManager.default.fileExists(atPath: argument, isDirectory: &isFolder), !isFolder.boolValue {
      self = .file(try PageURL(manifestArgument: argument))
    } else if isFolder.boolValue, argument.hasSuffix("/") || argument.hasPrefix(".") || argument.hasPrefix("/") {
      throw DescribedError("\(argument) is a folder, not a bundle")
    } else {
      self = .named(argument)
    }
  }

  /// The file, if it is one.
  var filePath: String? { if case .file(let url) = self { url.filePath } else { nil } }

  /// The manifest of the bundle: the named one, else the one in the store that lists it, else the one in this folder or
  /// beside the bundle; `nil` for a file, which runs as it is.
  func manifest(_ named: String?, in store: StoreDirectory) async throws -> PageURL? {
    if let named { return try PageURL(manifestArgument: named) }
    let opened = store.hasStore ? try BundleStore(reading: store) : nil
    switch self {
    case .file: return nil
    case .bundle(let url):
      for source in try await opened?.sources() ?? [] {
        for release in [source.incoming, source.current].compactMap(\.self)
        where try await opened?.bundle(at: url, in: release) != nil {
          return source.url
        }
      }
      return url.resolving("../manifest.json") ?? url
    case .named(let name):
      if let opened, try await !opened.sources().isEmpty { return try await StoredSource.chosen(nil, in: opened).url }
      guard FileManager.default.fileExists(atPath: "manifest.json") else {
        throw DescribedError(
          "there is no file \(name), and no manifest to look for a bundle of that name in: name one with --manifest")
      }
      return try PageURL(manifestArgument: "manifest.json")
    }
  }

  /// The bundle's URL. A name has the URL of the server's manifest; the stored manifest decides if the policy begins
  /// with the store, if the release is held, and if the server does not answer in time.
  ///
  /// - Returns: the URL, and the time of the search, which counts for the opening's deadline.
  /// - Throws: ``DescribedError``, ``SourceError``, ``StoreError``.
  func url(_ host: PageHost) async throws -> (url: PageURL, timeWaited: Duration) {
    switch self {
    case .file(let url), .bundle(let url): return (url, .zero)
    case .named(let name):
      let began = ContinuousClock.now
      let url = try await Self.find(name, host)
      return (url, .now - began)
    }
  }

  private static func find(_ name: String, _ host: PageHost) async throws -> PageURL {
    guard let verifier = host.verifier else { throw DescribedError("there is no manifest to look for \(name) in") }
    let policy = host.configuration.pages.opening.policy
    let source = try await host.store.source(verifier.source)
    let isHeld = source?.isHeld == true
    let releases = source?.openable ?? []
    let stored = try await bundles(of: releases, in: host.store)
    let known = url(of: name, in: stored)
    if let known, policy.startsWithStored || isHeld && policy != .networkOnly { return known }
    var lists = [stored]
    if policy.usesNetwork {
      do {
        if let verified = try await host.bundles.verified(policy: policy, canShow: known != nil) {
          lists.insert(try await bundles(of: [verified.release], in: host.store), at: 0)
        }
      } catch {
        if known == nil && stored.isEmpty || policy == .networkOnly { throw error }
      }
    } else if releases.isEmpty {
      throw SourceError.notStored(verifier.source)
    }
    if let found = lists.lazy.compactMap({ url(of: name, in: $0) }).first { return found }
    let manifest = verifier.source.readable
    let names = lists.first { !$0.isEmpty }?.map(\.name).sorted() ?? []
    guard !names.isEmpty else { throw DescribedError("the manifest \(manifest) has no bundles") }
    let some = names.prefix(10).joined(separator: ", ") + (names.count > 10 ? ", …" : "")
    let isPath = name.contains("/") || name.hasSuffix(".js")
    throw DescribedError(
      "\(isPath ? "there is no file \(name), and " : "")the manifest \(manifest) lists no bundle \(name.quotedForMessage); it has \(some)"
    )
  }

  /// The bundles of several releases, in the order of the releases.
  private static func bundles(of releases: [StoredRelease], in store: BundleStore) async throws -> [PageBundle] {
    var bundles: [PageBundle] = []
    for release in releases {
      bundles += try await store.recordedContents(of: release).map(\.bundle).filter { $0.kind == .bundle }
    }
    return bundles
  }

  /// A name may have the extension of its file.
  private static func url(of name: String, in bundles: [PageBundle]) -> PageURL? {
    let found = bundles.first { $0.name == name } ?? bundles.first { $0.name == Manifest.Entry.name(forPath: name) }
    return found?.url
  }
}
