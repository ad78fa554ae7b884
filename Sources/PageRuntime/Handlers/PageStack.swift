import HTTPTransport
import ScriptEngine

/// Pages one upon the other: what `navigator` pushes and pops. The topmost is the one that is seen.
///
/// The app puts its first page on it; pages that are pushed are made by the host's factory and open with
/// `renderByURL`.
@PageActor public final class PageStack: Navigating {
  /// Lowest first.
  public private(set) var pages: [PageInstance] = []
  private let limit: Int
  private var listeners: [AsyncStream<[PageInstance]>.Continuation] = []

  /// - Parameter limit: pages at once; one more is refused.
  package nonisolated init(limit: Int = 32) { self.limit = limit }

  /// The page that is seen.
  public var top: PageInstance? { pages.last }

  /// The pages as they are, and after each change.
  public var changes: AsyncStream<[PageInstance]> {
    let (changes, continuation) = AsyncStream.makeStream(of: [PageInstance].self, bufferingPolicy: .bufferingNewest(1))
    continuation.yield(pages)
    listeners.append(continuation)
    return changes
  }

  /// Puts a page of the app's on top.
  public func show(_ page: PageInstance) {
    guard !pages.contains(where: { $0 === page }) else { return }
    pages.append(page)
    tell()
  }

  public func push(_ url: PageURL, options: ScriptValue, from page: PageInstance) async throws {
    show(page)
    guard pages.count < limit else { throw NavigationError.tooMany(limit) }
    let next = page.environment.page(registry: page.ownRegistry)
    next.partition = page.partition
    pages.append(next)
    tell()
    do {
      try await next.renderByURL(
        url.text, options: PageOptions(), data: options["data"].object.map { .object($0) } ?? [:])
    } catch {
      // With a fallback there is something to see.
      if next.shownFallback == nil { await remove(next) }
      throw error
    }
  }

  public func pop(options: ScriptValue, from page: PageInstance) async throws {
    guard let index = pages.firstIndex(where: { $0 === page }), index > 0 else { throw NavigationError.nothingBelow }
    let gone = pages[index...]
    pages.removeSubrange(index...)
    tell()
    for page in gone.reversed() { await page.destroy() }
  }

  /// Destroys all pages on it.
  package func empty() async {
    let gone = pages
    pages = []
    tell()
    for page in gone.reversed() { await page.destroy() }
  }

  private func remove(_ page: PageInstance) async {
    pages.removeAll { $0 === page }
    tell()
    await page.destroy()
  }

  private func tell() {
    listeners.removeAll { listener in
      if case .terminated = listener.yield(pages) { true } else { false }
    }
  }
}

/// Why a page cannot go where it wants to.
enum NavigationError: Error, Hashable, Sendable, CustomStringConvertible {
  case tooMany(Int)
  case nothingBelow

  var description: String {
    switch self {
    case .tooMany(let limit): "\(limit) pages lie one upon the other already"
    case .nothingBelow: "there is no page below this one"
    }
  }
}
