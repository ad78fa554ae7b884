import HTTPCache
import HTTPTransport
import PageRuntime

/// One user after the other, and what the system wants back.
extension PageHost {
  /// Whose pages are opened now.
  public var partition: CachePartition { resources.partition }

  /// The cookies of ``partition``.
  public var cookies: any CookieStoring { resources.cookies(of: partition) ?? ownCookies }

  /// Turns to another user: pages that are opened from now on have that partition's cache, cookies and `storage`.
  ///
  /// Prerendered pages and script groups that were kept for the next opening go. Pages that are open stay the former
  /// user's to their end, with those that they embed and push; an app ends them.
  ///
  /// - Throws: ``TransportError`` where libcurl cannot be set up; the host stays with its user then.
  public func use(partition: CachePartition) async throws {
    guard partition != self.partition else { return }
    resources.use(partition, cookies: try jars.cookies(of: partition))
    await forgetPages()
  }

  /// Removes all that is stored for a user: responses, those that are kept too, in the cache and its regions, cookies and
  /// `storage`; and, with the present user's, prerendered pages and kept script groups. Bundles are nobody's alone, and
  /// stay.
  ///
  /// Answers to requests that were sent before are not stored. Pages of the user that are still open may store new ones:
  /// an app ends them first.
  ///
  /// - Throws: ``StoreError``, ``CookieFileError``; some may have been removed then.
  public func forget(partition: CachePartition) async throws {
    if partition == self.partition { await forgetPages() }
    try await resources.purge(.partition(partition))
    try await resources.cache.removeAllInRegions(of: partition)
    try jars.forget(partition)
  }

  private func forgetPages() async {
    await prerenderer.empty()
    await pages.frameworks.forgetKept()
  }

  /// Gives back memory that can be had again: bytes of bundles and responses, prerendered pages, and script groups that no
  /// page is using. For when the system is short of it. Pages that are open stay; what was stored in memory only is gone.
  public func releaseMemory() async {
    store.releaseMemory()
    responses.releaseMemory()
    await prerenderer.empty()
    await pages.frameworks.releaseMemory()
  }
}
