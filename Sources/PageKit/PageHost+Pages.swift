import PageRuntime
import ScriptEngine

extension PageHost {
  /// A page, made by the factory; it opens from the store where it may.
  ///
  /// - Parameter registry: what is registered for it, and for the pages it embeds; nil for what is for all.
  @PageActor public func page(registry: PageRegistry? = nil) -> PageInstance { pages.page(registry: registry) }

  /// A page that is open: one that was rendered ahead for this, or a new one; or one that could not open and has a
  /// ``PageInstance/shownFallback``.
  ///
  /// - Throws: ``PageError`` where there is nothing to show.
  @PageActor public func open(
    _ url: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]
  ) async throws -> PageInstance {
    if let page = try await prerenderer.take(url, options: options, data: data) { return page }
    let page = page()
    do {
      try await page.renderByURL(url, options: options, data: data)
    } catch {
      guard page.shownFallback == nil else { return page }
      await page.destroy()
      throw error
    }
    return page
  }

  /// Makes script engines ready for bundles of a type, and returns when they are ready. ``launch(_:transport:)`` begins
  /// with `vanilla`.
  ///
  /// - Parameter type: a type for which ``HostConfiguration/scripts`` has no framework is ignored.
  public func prepare(for type: BundleType = .vanilla) async { await pages.frameworks.prepare(type) }

  /// Renders a page ahead, for the next ``open(_:options:data:)`` with the same arguments; returns when it is ready.
  ///
  /// - Throws: ``PrerenderError/full(limit:)``, ``PageError``.
  @PageActor public func prerender(
    _ url: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]
  ) async throws {
    try await prerenderer.prerender(url, options: options, data: data) { page() }
  }
}
