import PageCore
import PageLoading
import ScriptEngine

/// A page that opens from the local store where the server's MD5 says that it may.
///
/// It overrides the step that downloads: the store is asked first, and what has to be fetched is checked and stored
/// before it runs. The script sees the page's remote URL all the same.
@PageActor open class CachingPageInstance: PageInstance {
  open override func renderByURL(
    _ text: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]
  ) async throws {
    try await open(text, options: options, data: data, OpenOptions())
  }

  open override func reload(ignoringCache: Bool = false) async throws {
    guard let url else { return }
    try await open(url.text, options: lastOptions, data: lastData, OpenOptions(ignoresStore: ignoringCache))
  }

  private func open(
    _ text: String, options: PageOptions, data: ScriptValue, _ open: OpenOptions
  ) async throws {
    guard let bundles = environment.bundles else {
      return try await super.renderByURL(text, options: options, data: data)
    }
    guard let url = PageURL(text) else { throw fail(.invalidURL(text)) }
    try begin(url)
    try await orFallBack(options: options, data: data) {
      let loaded = try await loading { try await bundles.load(url, options: open) }
      bundle = loaded
      var options = options
      options.bundleURL = options.bundleURL ?? text
      try await render(String(decoding: loaded.bytes, as: UTF8.self), options: options, data: data)
    }
  }
}
