import HTTPTransport
import ScriptEngine

/// The stack of pages that the module `navigator` pushes and pops. The topmost page is the one to be shown: its script
/// gets the event `viewappear`, and `viewdisappear` when another page covers it or it leaves.
///
/// The app puts its first page on the stack with ``show(_:)``. Pages that are pushed are made by the host's factory and
/// open with ``PageInstance/renderByURL(_:options:data:)``.
///
///     await host.stack.show(page)  // the app's first page
///     for await pages in await host.stack.changes { print(pages.count, "pages") }
@PageActor public final class PageStack: Navigating {
  /// The pages, lowest first.
  public private(set) var pages: [PageInstance] = []
  private let limit: Int
  private let broadcast = Broadcast<[PageInstance]>(.newest(1))

  /// - Parameter limit: the largest number of pages; a push beyond it is refused.
  package nonisolated init(limit: Int = 32) { self.limit = limit }

  /// The topmost page.
  public var top: PageInstance? { pages.last }

  /// The pages now, and after each change. A reader that falls behind gets the latest state only.
  public var changes: AsyncStream<[PageInstance]> { broadcast.listen(first: pages) }

  /// Puts a page of the app on top. A page that is on the stack already stays where it is.
  public func show(_ page: PageInstance) {
    guard !pages.contains(where: { $0 === page }) else { return }
    pages.append(page)
    tell()
  }

  /// Makes a page, puts it on top and opens it.
  ///
  /// - Throws: ``PageError``; ``StackError/full(limit:)``. A page that cannot open leaves the stack unless it shows a
  ///   fallback.
  public func push(_ url: PageURL, options: ScriptValue, from page: PageInstance) async throws {
    show(page)
    guard pages.count < limit else { throw StackError.full(limit: limit) }
    let next = page.environment.page(registry: page.ownRegistry)
    next.partition = page.partition
    var inherited = PageOptions()
    inherited.determinism = page.determinismFromNow
    pages.append(next)
    tell()
    do {
      try await next.renderByURL(
        url.text, options: inherited, data: options["data"].object.map { .object($0) } ?? [:])
    } catch {
      // A page with a fallback has something to show.
      if next.shownFallback == nil { await remove(next) }
      throw error
    }
  }

  /// Removes a page and all pages above it, and destroys them.
  ///
  /// - Throws: ``StackError/noPageBelow``.
  public func pop(options: ScriptValue, from page: PageInstance) async throws {
    guard let index = pages.firstIndex(where: { $0 === page }), index > 0 else {
      throw StackError.noPageBelow
    }
    let gone = pages[index...]
    pages.removeSubrange(index...)
    tell()
    for page in gone.reversed() { await page.destroy() }
  }

  /// Destroys all its pages.
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

  /// Says which page is shown, and sends the change.
  private func tell() {
    for page in pages.dropLast() { page.disappear() }
    pages.last?.appear()
    broadcast.send(pages)
  }
}

/// The reason why a ``PageStack`` did not change.
public enum StackError: Error, Hashable, CustomStringConvertible {
  /// The stack has as many pages as it may have.
  case full(limit: Int)
  /// There is no page below the one that is to be removed.
  case noPageBelow

  public var description: String {
    switch self {
    case .full(let limit): "the stack has \(limit) pages already"
    case .noPageBelow: "there is no page below this one"
    }
  }
}
