import Foundation
import HTTPTransport
import ScriptEngine

/// Pages that are rendered before they are opened. Each waits a limited time for an opening of the same URL with the same
/// options and data.
@PageActor package final class Prerenderer {
  /// The limits of pages that wait.
  package struct Limits: Hashable, Sendable {
    /// The largest number of pages; one more is refused.
    package var pages = 3
    /// The longest time that a page waits, counted from the request for it.
    package var timeToLive: Duration = .seconds(60)

    /// Three pages, 60 seconds.
    package init() {}
  }

  private let limits: Limits
  /// The pages by their URLs, options and data, with the tasks that open them, and that end their waiting.
  private var entries:
    [(
      url: String, options: PageOptions, data: ScriptValue, page: PageInstance, opening: Task<Void, any Error>,
      expiry: Task<Void, Never>
    )] = []

  package nonisolated init(limits: Limits = Limits()) { self.limits = limits }

  /// The number of pages that wait or are being rendered.
  package var count: Int { entries.count }

  /// Renders a page ahead, and returns when it is ready: when its requests have ended too, or its time is up. A page that
  /// waits already stays.
  ///
  /// - Throws: ``PrerenderError/full(limit:)``, ``PageError``.
  package func prerender(
    _ url: String, options: PageOptions = PageOptions(), data: ScriptValue = [:], make: () -> PageInstance
  ) async throws {
    if let entry = place(url, options, data).map({ entries[$0] }) {
      try await entry.opening.value
      await entry.page.settle(within: limits.timeToLive, timers: .zero)
      return
    }
    guard entries.count < limits.pages else { throw PrerenderError.full(url: url, limit: limits.pages) }
    let page = make()
    let opening = Task { try await page.renderByURL(url, options: options, data: data) }
    let limit = limits.timeToLive
    let expiry = Task { [weak self] in
      do { try await Task.sleep(for: limit) } catch { return }
      await self?.drop(page)
    }
    entries.append((url, options, data, page, opening, expiry))
    do {
      try await opening.value
      await page.settle(within: limit, timers: .zero)
    } catch {
      await drop(page)
      throw error
    }
  }

  /// Hands the page that was rendered ahead over to the caller, or returns `nil` if there is none.
  ///
  /// - Throws: ``PageError`` if the page is still being opened, and fails.
  package func remove(_ url: String, options: PageOptions, data: ScriptValue) async throws -> PageInstance? {
    guard let index = place(url, options, data) else { return nil }
    let entry = entries.remove(at: index)
    entry.expiry.cancel()
    try await entry.opening.value
    return entry.page.phase == .live ? entry.page : nil
  }

  /// Drops all pages, since they may be out of date.
  package func empty() async {
    let gone = entries
    entries = []
    for entry in gone {
      entry.expiry.cancel()
      await entry.page.destroy()
    }
  }

  private func place(_ url: String, _ options: PageOptions, _ data: ScriptValue) -> Int? {
    entries.firstIndex { $0.url == url && $0.options == options && $0.data == data }
  }

  private func drop(_ page: PageInstance) async {
    guard let index = entries.firstIndex(where: { $0.page === page }) else { return }
    entries.remove(at: index).expiry.cancel()
    await page.destroy()
  }
}

/// An error of rendering a page ahead.
public enum PrerenderError: Error, Hashable, Sendable, CustomStringConvertible {
  /// As many pages wait as ``Prerenderer/Limits/pages`` allows.
  case full(url: String, limit: Int)

  public var description: String {
    switch self {
    case .full(let url, let limit):
      "\(url) is not rendered ahead: \(limit) pages wait already, which is the limit"
    }
  }
}
