import Bundles
import HTTPTransport
import PageRuntime
import ScriptEngine

extension PageHost {
  /// Makes a page that is not opened yet, with the factory.
  ///
  /// - Parameter registry: the registry of this page and of those that it embeds; `nil` for the host's.
  @PageActor public func page(registry: PageRegistry? = nil) -> PageInstance { pages.page(registry: registry) }

  /// Opens a page, or takes one that was rendered ahead with the same arguments.
  ///
  /// - Parameters:
  ///   - url: the URL of the bundle.
  ///   - options: the options of this opening.
  ///   - data: the page's data, an object.
  /// - Returns: the page, which has run its script. A page that could not open and has a fallback is returned too: see
  ///   `PageInstance.shownFallback`.
  /// - Throws: `PageError` if the page cannot open and has no fallback.
  @PageActor public func open(
    _ url: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]
  ) async throws -> PageInstance {
    if let page = try await prerenderer.take(url, options: options, data: data) {
      // Its bundle may have been disabled since it was rendered.
      guard let known = PageURL(url), await bundles.isDisabled(known) else { return page }
      await page.destroy()
    }
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

  /// Renders a page ahead, for the next ``open(_:options:data:)`` with the same arguments, and returns when it is ready.
  ///
  /// A page waits for at most 60 seconds.
  ///
  /// - Throws: an error with the reason if three pages wait already; `PageError`.
  @PageActor public func prerender(
    _ url: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]
  ) async throws {
    try await prerenderer.prerender(url, options: options, data: data) { page() }
  }
}
