import HTTPTransport
import ScriptEngine

/// What is shown in the place of a page that cannot open.
public enum PageFallback: Hashable, Sendable {
  /// A page for browsers, which the app shows in a web view.
  case html(PageURL)
  /// The text of a bundle that came with the app; it runs as the page.
  case bundle(String)
  /// Words that the app shows.
  case placeholder(String)
}

/// Chooses by the page's URL and by why it cannot open; nil where there is nothing to show.
public typealias FallbackChoice = @Sendable (PageURL?, PageError) -> PageFallback?

extension PageInstance {
  /// Shows the fallback, where there is one.
  ///
  /// - Throws: `error`, unless a packaged bundle runs in the page's place.
  func fallBack(from error: PageError, options: PageOptions, data: ScriptValue) async throws {
    guard phase == .failed, let choice = options.fallback ?? environment.fallback(url, error) else { throw error }
    shownFallback = (choice, error)
    feed.send(.fallback(choice, reason: error))
    guard case .bundle(let source) = choice else { throw error }
    var packaged = options
    packaged.bundleURL = packaged.bundleURL ?? url?.text
    packaged.type = nil
    do {
      try await render(source, options: packaged, data: data)
    } catch {
      // What the fallback's own failure adds helps nobody: the page's is what has to be mended.
      throw shownFallback?.reason ?? error
    }
    lastOptions = options
  }
}
