import ArgumentParser
import Foundation
import PageKit

/// What is rendered: a file as it is, or a bundle as an app opens it.
enum RenderTarget: Hashable {
  case file(PageURL)
  case bundle(PageURL)
  case named(String)

  init(_ argument: String) throws {
    if argument.contains("://") {
      guard let url = PageURL(argument) else {
        throw ValidationError("\(argument.quotedForMessage) is no http, https or file URL.")
      }
      self = url.isFile ? .file(url) : .bundle(url)
      return
    }
    var isFolder: ObjCBool = false
    if FileManager.default.fileExists(atPath: argument, isDirectory: &isFolder), !isFolder.boolValue {
      self = .file(try PageURL(manifestArgument: argument))
    } else if isFolder.boolValue, argument.hasSuffix("/") || argument.hasPrefix(".") {
      throw CommandError("\(argument) is a folder, not a bundle")
    } else {
      self = .named(argument)
    }
  }

  /// The file, where it is one.
  var filePath: String? { if case .file(let url) = self { url.filePath } else { nil } }

  /// The manifest that tells of the bundle: the named one, else the store's that lists it, else the one here or beside
  /// the bundle.
  func manifest(_ named: String?, in store: StoreDirectory) async throws -> PageURL {
    if let named { return try PageURL(manifestArgument: named) }
    let opened = store.hasStore ? try BundleStore(reading: store) : nil
    switch self {
    case .file(let url): return url.resolving("../manifest.json") ?? url
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
        throw CommandError(
          "there is no file \(name), and no manifest to look for a bundle of that name in: name one with --manifest")
      }
      return try PageURL(manifestArgument: "manifest.json")
    }
  }

  /// The bundle's URL; for a name, that which the server's manifest gives it, or the stored one while the server is
  /// silent. The search counts for the opening's deadline: the policy is what is left of it.
  func url(_ host: PageHost) async throws -> (url: PageURL, policy: OpenPolicy?) {
    switch self {
    case .file(let url), .bundle(let url): return (url, nil)
    case .named(let name):
      let began = ContinuousClock.now
      let url = try await Self.find(name, host)
      guard case .networkFirst(let deadline) = host.configuration.opening.policy else { return (url, nil) }
      return (url, .networkFirst(deadline: max(.milliseconds(100), deadline - (ContinuousClock.now - began))))
    }
  }

  private static func find(_ name: String, _ host: PageHost) async throws -> PageURL {
    guard let verifier = host.verifier else { throw CommandError("there is no manifest to look for \(name) in") }
    let source = try await host.store.source(verifier.source)
    // Where something is stored, as long as an opening waits; else as long as there is hope.
    let opening = host.configuration.opening
    var patience = opening.idleLimit
    if source != nil, case .networkFirst(let deadline) = opening.policy { patience = deadline }
    let answer = await FirstAnswer.of(within: patience) { try await verifier.verified() }
    let newest = (try? answer?.get())?.release
    var names: [String] = []
    for release in [newest, source?.incoming, source?.current].compactMap(\.self) {
      let bundles = try await host.store.recordedContents(of: release).map(\.bundle).filter { $0.kind == .bundle }
      let found = bundles.first { $0.name == name } ?? bundles.first { $0.name == Manifest.Entry.name(forPath: name) }
      if let found { return found.url }
      if names.isEmpty { names = bundles.map(\.name) }
    }
    let manifest = verifier.source.readable
    guard !names.isEmpty else {
      if case .failure(let error)? = answer { throw error }
      throw CommandError("the manifest \(manifest) has no bundles")
    }
    let some = names.sorted().prefix(10).joined(separator: ", ") + (names.count > 10 ? ", …" : "")
    let isPath = name.contains("/") || name.hasSuffix(".js")
    throw CommandError(
      "\(isPath ? "there is no file \(name), and " : "")the manifest \(manifest) lists no bundle \(name.quotedForMessage); it has \(some)"
    )
  }
}

/// Work that is waited for only so long.
private enum FirstAnswer {
  /// Nil where there was none in time; the work goes on.
  static func of<Value: Sendable>(
    within limit: Duration, _ work: @escaping @Sendable () async throws -> Value
  ) async -> Result<Value, any Error>? {
    let (answers, continuation) = AsyncStream.makeStream(of: Result<Value, any Error>?.self)
    let worker = Task {
      do {
        continuation.yield(.success(try await work()))
      } catch {
        continuation.yield(.failure(error))
      }
    }
    let alarm = Task {
      try? await Task.sleep(for: limit)
      continuation.yield(nil)
    }
    defer {
      alarm.cancel()
      worker.cancel()
    }
    for await answer in answers { return answer }
    return nil
  }
}
