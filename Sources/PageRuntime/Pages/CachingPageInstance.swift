import Bundles
import HTTPTransport
import ScriptEngine

/// A page that opens from the local store if the server's MD5 confirms the stored bytes.
///
/// It overrides the step that downloads: the store is asked first, and a download is checked and stored before it runs.
/// The script sees the page's remote URL in both cases.
@PageActor open class CachingPageInstance: PageInstance {
  /// Opens the page from the store or the server, by the policy of its opening.
  ///
  /// - Throws: ``PageError``; the page is then in the phase `failed`.
  open override func renderByURL(
    _ text: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]
  ) async throws {
    var open = OpenOptions(policy: options.policy, view: inheritedView)
    open.timeWaited = options.timeWaited
    try await self.open(text, options: options, data: data, open)
  }

  /// Opens the page again, with the newest bytes that its policy allows.
  ///
  /// - Parameter ignoringCache: `true` takes the server's bundle whatever is stored.
  /// - Throws: ``PageError``; the page is then in the phase `failed`.
  open override func reload(ignoringCache: Bool = false) async throws {
    guard let url else { return }
    let open = OpenOptions(policy: lastOptions.policy, ignoresStore: ignoringCache, view: inheritedView)
    try await self.open(url.text, options: lastOptions, data: lastData, open)
  }

  private func open(
    _ text: String, options: PageOptions, data: ScriptValue, _ open: OpenOptions
  ) async throws {
    guard let bundles = environment.bundles else {
      return try await super.renderByURL(text, options: options, data: data)
    }
    guard let url = PageURL(text) else { throw fail(.invalidURL(text)) }
    try begin(url)
    let news = bundles.news
    try await orFallBack(options: options, data: data) {
      let loaded = try await loading { try await bundles.load(url, options: open) }
      bundle = loaded
      follow(news, since: loaded)
      var options = options
      options.bundleURL = options.bundleURL ?? text
      try await render(String(decoding: loaded.bytes, as: UTF8.self), options: options, data: data)
    }
  }

  private func follow(_ news: AsyncStream<BundleNews>, since shown: LoadedBundle) {
    newsTask = Task { [feed] in
      for await item in news where item.concerns(shown) { feed.send(.updateAvailable(item)) }
    }
  }
}
