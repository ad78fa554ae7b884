import HTTPTransport
import ScriptEngine

/// A replacement for a page that cannot open.
public enum PageFallback: Hashable, Sendable {
  /// A web page, which the app shows in a web view.
  case html(PageURL)
  /// The text of a bundle that came with the app. It runs as the page.
  case bundle(String)
  /// A text that the app shows.
  case placeholder(String)
}

/// Chooses a fallback by the page's URL and the error, or returns `nil` if there is none.
public typealias FallbackChoice = @Sendable (PageURL?, PageError) -> PageFallback?

extension PageInstance {
  /// Shows the fallback, if there is one.
  ///
  /// - Throws: `error`, unless a bundle runs as the fallback.
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
      // The page's own error is the one to be fixed, not that of its fallback.
      throw shownFallback?.reason ?? error
    }
    lastOptions = options
  }
}
