import Bundles
import CoreMetrics
import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PageKit
import ServerKit

/// The routes of releases' contents: the manifest, the checksums, and bundles and files by name and by digest.
extension Serving {
  func addContents(to router: some RouterMethods<HostRequestContext>) {
    add("/manifest.json", to: router) { _, release in .init(content: release.manifest, modified: release.since) }
    add("/checksums", to: router) { _, release in .init(content: release.checksums, modified: release.since) }
    add("/bundles/**", to: router) { path, release in try await bundle(at: path, of: release) }
    add("/blobs/:digest", to: router) { path, release in try await blob(at: path, of: release) }
    add("/blobs/:digest/**", to: router) { path, release in try await blob(at: path, of: release) }
    for method in [HTTPRequest.Method.get, .head] {
      // A signed manifest has paths of its own.
      router.on("/**", method: method) { request, context in
        guard feed.current?.signed != nil else { throw HTTPError(.notFound) }
        return await answer(request.head, context.replay) { path, release in try await signed(path, of: release) }
      }
    }
  }

  private typealias Lookup = @Sendable (String, ServedRelease) async throws -> ContentResponse

  /// - Parameter lookup: receives the path after the route's first folder, and the release that is served.
  private func add(_ path: RouterPath, to router: some RouterMethods<HostRequestContext>, lookup: @escaping Lookup) {
    for method in [HTTPRequest.Method.get, .head] {
      router.on(path, method: method) { request, context in
        await answer(request.head, context.replay) { path, release in
          try await lookup(String(path.drop { $0 != "/" }.dropFirst()), release)
        }
      }
    }
    router.on(path, method: .options) { _, _ in ServedFields.preflight }
  }

  private func answer(_ request: HTTPRequest, _ replay: ReplayContext?, _ lookup: Lookup) async -> Response {
    do {
      let generation = feed.generation
      guard let release = feed.current else { throw ServedError.noRelease }
      guard let path = (request.path ?? "/").prefix(while: { $0 != "?" }).dropFirst().unescapedPath else {
        throw ServedError(status: .badRequest, reason: "the path is not UTF-8")
      }
      let found = try await lookup(path, release)
      let chosen = try await representation(of: found.content, for: request)
      let now = HTTPDate.now
      // Within the second of its modification a response has no date yet and must not be recorded.
      if chosen.isFinal, found.modified.map({ $0 < now }) ?? true {
        replay?.allow { [feed] in feed.generation == generation }
      }
      let response = found.response(with: chosen.representation, to: request, now: now)
      if request.method == .get, let saved = found.saved(by: response, with: chosen.representation) {
        let counter = metrics.savedBytes(saved.how)
        counter.increment(by: saved.bytes)
        replay?.onReplay { _ in counter.increment(by: saved.bytes) }
      }
      return response
    } catch let error as ServedError {
      return error.response(to: request)
    } catch {
      return ServedError(status: .badGateway, reason: "it is not available now: \(error.sentence)").response(
        to: request)
    }
  }

  /// Returns the representation that a request gets: the difference from the dictionary it offers, or the first coding
  /// it accepts.
  ///
  /// - Returns: also `true` if an equal request gets the same one as long as the release is served.
  private func representation(
    of content: ServedContent, for request: HTTPRequest
  ) async throws -> (representation: Representation, isFinal: Bool) {
    let accepted = AcceptedCodings(request.headerFields)
    var isFinal = true
    if accepted.weights?[DictionaryZstd.token] ?? 0 > 0,
      let dictionary = SHA256Digest(availableDictionary: request.headerFields)
    {
      let (delta, isPending) = await deltas.delta(of: content, from: dictionary)
      if let delta { return (delta, true) }
      isFinal = !isPending
    }
    guard let representation = try await representations.representation(of: content, in: accepted.ordered()) else {
      throw ServedError(
        status: .notAcceptable,
        reason: "the request accepts none of the encodings of this content: "
          + content.codings.map(\.token).joined(separator: ", "),
        fields: [.vary: ServedFields.vary(hasDeltas: !content.isMade)])
    }
    return (representation, isFinal)
  }

  // MARK: Lookups

  private func bundle(at path: String, of release: ServedRelease) async throws -> ContentResponse {
    // The base of a signed manifest may be below this folder.
    if let entry = release.entry(located: "bundles/\(path)") ?? release.entry(at: path) {
      return try await found(entry, in: release)
    }
    if path.hasSuffix(".md5"), let entry = release.entry(at: String(path.dropLast(4))) {
      // The format of md5sum, so that md5sum can check it.
      let name = path.dropLast(4).split(separator: "/").last ?? ""
      let line = "\(entry.bundle.md5)  \(name)\n"
      return ContentResponse(
        content: try ServedContent(made: Array(line.utf8), mediaType: "text/plain; charset=utf-8"),
        modified: entry.modified)
    }
    throw ServedError.notFound("release \(release.name) has no bundle or file \(path.quotedForMessage)")
  }

  /// Returns what a signed manifest has at a path: an entry, or a file beside it.
  private func signed(_ path: String, of release: ServedRelease) async throws -> ContentResponse {
    if let content = release.signedFile(at: path) { return ContentResponse(content: content) }
    guard let entry = release.entry(located: path) else {
      throw ServedError.notFound("there is nothing at \("/\(path)".quotedForMessage)")
    }
    return try await found(entry, in: release)
  }

  private func found(_ entry: ServedEntry, in release: ServedRelease) async throws -> ContentResponse {
    let content = ServedContent(
      try await blob(of: entry, in: release.stored), of: entry.bundle, in: release.stored, path: entry.path)
    return ContentResponse(content: content, modified: entry.modified)
  }

  /// Returns a bundle's bytes. An on-demand bundle is fetched at its first request.
  private func blob(of entry: ServedEntry, in release: StoredRelease) async throws -> Blob {
    if let blob = entry.blob { return blob }
    let recent: @Sendable () async throws -> Blob? = { [store] in
      try await store.bundle(at: entry.bundle.url, in: release)?.blob
    }
    if let blob = try await recent() { return blob }
    return try await downloader.download(FetchTarget(entry.bundle), for: release, recent: recent).blob
  }

  private func blob(at path: String, of release: ServedRelease) async throws -> ContentResponse {
    do {
      return try blob(path)
    } catch let error as ServedError {
      // A signed manifest may have its contents there under other names; one on demand is fetched now.
      guard let entry = release.entry(located: "blobs/\(path)") else { throw error }
      return try await found(entry, in: release)
    }
  }

  /// - Parameter path: the SHA-256, and the entry's path for clients that get differences: their dictionaries are chosen
  ///   by URL.
  private func blob(_ path: String) throws -> ContentResponse {
    let name = path.prefix { $0 != "/" }
    guard let digest = SHA256Digest(hex: name) else {
      throw ServedError(status: .badRequest, reason: "a blob's name is its SHA-256: 64 hexadecimal digits")
    }
    let rest = path.dropFirst(name.count + 1)
    let label = rest.isEmpty ? nil : String(rest)
    guard let (entry, release) = feed.entry(of: digest, at: label), let blob = entry.blob else {
      let place = label.map { " at \($0.quotedForMessage)" } ?? ""
      throw ServedError.notFound("no current or recent release has bytes with the SHA-256 \(digest)\(place)")
    }
    return ContentResponse(
      content: ServedContent(blob, of: entry.bundle, in: release, path: entry.path), caching: ServedFields.immutable,
      dictionaryFor: label?.pathPattern.map { "/blobs/*/\($0)" })
  }
}
