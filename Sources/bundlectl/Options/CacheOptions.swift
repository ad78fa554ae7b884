import ArgumentParser
import Foundation
import HTTPTypes
import Logging
import PageKit

extension LoadBehavior {
  /// The behaviour of `--policy`.
  ///
  /// - Throws: `ValidationError` if the name is unknown.
  init(policy name: String) throws {
    guard let found = Self(named: name) else {
      let names = Self.named.map(\.name).joined(separator: ", ")
      throw ValidationError("There is no policy \(name.quotedForMessage): the policies are \(names).")
    }
    self = found
  }
}

/// The location of the response cache, and the options of transfers.
struct CacheOptions: ParsableArguments {
  @OptionGroup var place: StorePlace

  @Option(
    name: .long, help: ArgumentHelp("The region: a part of the cache with a folder of its own.", valueName: "name"))
  var region: String?

  @Flag(name: [.short, .long], help: "Log to standard error.")
  var verbose = false

  var logger: Logger { StoreOptions.logger(isVerbose: verbose) }

  var storeDirectory: StoreDirectory { place.directory }

  private var responses: ResponseDirectory {
    let whole = ResponseDirectory(beside: storeDirectory)
    return region.map { whole.region($0) } ?? whole
  }

  /// The response cache; with `isShared` it follows the rules of shared caches.
  func cache(isShared: Bool = false) throws -> ResponseCache {
    try ResponseCache(
      directory: responses, policy: CachePolicy(mode: isShared ? .shared : .private), logger: logger)
  }

  /// The response cache for reading; a read-only one is used too.
  ///
  /// - Parameter unwritable: called with the reason if it is read-only.
  func readableCache(isShared: Bool = false, unwritable: (String) -> Void = { _ in }) throws -> ResponseCache {
    do {
      return try cache(isShared: isShared)
    } catch StoreError.notWritable(let path, let reason) where responses.hasStore {
      let store = try ResponseStore(reading: responses, logger: logger)
      unwritable("\(path) cannot be written: \(reason)")
      return try ResponseCache(
        store: store, policy: CachePolicy(mode: isShared ? .shared : .private), logger: logger)
    }
  }

  /// Without a usable cache, requests go to the network.
  private func cacheOrNone(isShared: Bool) throws -> ResponseCache {
    do {
      return try readableCache(isShared: isShared) { storeDirectory.warnReadOnly($0) }
    } catch let error as StoreError {
      Terminal.report("continuing without the response cache: \(error)")
      return try ResponseCache(
        store: NoResponseStore(), policy: CachePolicy(mode: isShared ? .shared : .private), logger: logger)
    }
  }

  /// The current release that lists a URL among its files; `nil` if none does.
  func release(withFile url: String) async throws -> StoredRelease? {
    guard storeDirectory.hasStore, let url = PageURL(url) else { return nil }
    let opened = try BundleStore(reading: storeDirectory, logger: logger)
    for release in try await opened.sources().compactMap(\.current) {
      if let found = try await opened.bundle(at: url, in: release), found.bundle.kind == .file { return release }
    }
    return nil
  }

  /// The cookies of one user; a shared cache has none.
  func cookies(isShared: Bool) throws -> CookieJar? {
    isShared ? nil : try CookieJar(file: responses.durablePath + "/cookies.txt")
  }

  /// Creates a loader with this cache and the network for one piece of work. Background refreshes are awaited; if the
  /// work throws, all requests are ended first.
  func withLoader(
    isShared: Bool = false, sharesCookies: Bool = false, cookies: CookieJar? = nil, caFile: String? = nil,
    limits: TransferLimits = .standard, bodyLimit: Int64 = 256 << 20, _ body: (ResourceLoader) async throws -> Void
  ) async throws {
    var configuration = ResourceLoader.Configuration()
    configuration.behavior = .protocolCache
    configuration.partition = isShared ? .shared : .private
    if sharesCookies {
      var rule = ResourceRule()
      rule.sharesCookies = true
      configuration.rules = [rule]
    }
    configuration.logger = logger
    configuration.limits = limits
    configuration.bodyLimit = bodyLimit
    let bundles = storeDirectory.hasStore ? try BundleStore(reading: storeDirectory, logger: logger) : nil
    let responses = try cacheOrNone(isShared: isShared)
    try await CurlTransport.using(.init(certificateAuthorities: caFile, connectionsPerHost: 32)) {
      [configuration] transport in
      let loader = ResourceLoader(
        cache: responses, transport: transport, cookies: cookies,
        files: bundles.map { ReleaseFiles($0).file },
        configuration: configuration)
      do {
        try await body(loader)
        await loader.finishBackgroundWork()
      } catch {
        await loader.shutDown()
        throw error
      }
    }
  }
}
