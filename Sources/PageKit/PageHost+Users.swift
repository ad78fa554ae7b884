import CurlTransport
import Foundation
import HTTPCache
import HTTPTransport
import PageRuntime
import Synchronization

/// Users, one after the other, and memory.
extension PageHost {
  /// The user whose pages are opened now.
  public var partition: CachePartition { resources.partition }

  /// The cookies of ``partition``.
  public var cookies: any CookieStoring { resources.cookies(of: partition) ?? ownCookies }

  /// Turns to another user: pages that are opened from now on have that partition's cache, cookies and `storage`.
  ///
  /// Prerendered pages and script engines that were kept for the next opening are dropped. Open pages stay the former
  /// user's, with those that they embed and push; the app ends them.
  ///
  /// - Throws: `TransportError` if libcurl cannot be set up. The host then stays with its user.
  public func use(partition: CachePartition) async throws {
    guard partition != self.partition else { return }
    resources.use(partition, cookies: try jars.cookies(of: partition))
    await forgetPages()
  }

  /// Removes everything that is stored for a user: responses in the cache and its regions, also kept ones, cookies and
  /// `storage`. For the present user, prerendered pages and kept script engines go too. Bundles are shared by all users and
  /// stay.
  ///
  /// Answers to requests that were sent before are not stored. Open pages of the user may store new ones, so the app ends
  /// them first.
  ///
  /// - Throws: `StoreError`; `CookieFileError` if the file of the cookies cannot be written; `TransportError` if libcurl
  ///   cannot be set up. A part may have been removed.
  public func forget(partition: CachePartition) async throws {
    if partition == self.partition { await forgetPages() }
    snapshots.releaseMemory()
    try await resources.purge(.partition(partition))
    try await resources.cache.removeAllInRegions(of: partition)
    try jars.forget(partition)
  }

  private func forgetPages() async {
    await prerenderer.empty()
    await pages.frameworks.forgetKept()
    snapshots.releaseMemory()
  }

  /// Frees memory that can be filled again: bytes of bundles and responses, prerendered pages, and script engines that no
  /// page uses. Call it on a memory warning. Open pages stay; responses that are stored in memory only are lost.
  public func releaseMemory() async {
    store.releaseMemory()
    responses.releaseMemory()
    snapshots.releaseMemory()
    await prerenderer.empty()
    await pages.frameworks.releaseMemory()
  }
}

/// The cookie jars of a host's users: one for each partition that was used.
final class PartitionCookies: Sendable {
  private let folder: String
  private let jars = Mutex<[CachePartition: any CookieStoring]>([:])

  /// - Parameter folder: the folder of the jars' files.
  init(folder: String) { self.folder = folder }

  /// Returns the cookies of the first user.
  ///
  /// - Parameter given: the app's own; `nil` for a jar in a file.
  /// - Throws: `TransportError` if libcurl cannot be set up.
  func begin(with given: (any CookieStoring)?, for partition: CachePartition) throws -> any CookieStoring {
    guard let given else { return try cookies(of: partition) }
    jars.withLock { $0[partition] = given }
    return given
  }

  func cookies(of partition: CachePartition) throws -> any CookieStoring {
    try jars.withLock { jars in
      if let known = jars[partition] { return known }
      let jar = try CookieJar(file: path(of: partition))
      jars[partition] = jar
      return jar
    }
  }

  /// Removes a partition's cookies.
  ///
  /// - Throws: `CookieFileError`, `TransportError`.
  func forget(_ partition: CachePartition) throws {
    let cookies = try cookies(of: partition)
    cookies.removeAll()
    if let jar = cookies as? CookieJar { try jar.flush() }
  }

  private func path(of partition: CachePartition) -> String {
    guard partition != .private else { return folder + "/cookies.txt" }
    let name = partition.text.map { $0.isLetter || $0.isNumber ? $0 : "-" }
    return folder + "/cookies-\(String(name)).txt"
  }
}
