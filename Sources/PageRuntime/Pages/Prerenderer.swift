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

  /// The outcome for a page, by its URL.
  package enum Event: Hashable, Sendable {
    /// The page is ready.
    case ready(String)
    /// The page was opened.
    case taken(String)
    /// The page could not open.
    case failed(String, reason: String)
    /// The page was not opened in time.
    case expired(String)
    /// The page was dropped: a new release, launch or user began, or memory was released.
    case outdated(String)
  }

  private struct Key: Hashable {
    let url: String
    let options: PageOptions
    let data: ScriptValue
  }

  private let limits: Limits
  /// The pages with the tasks that open them, and that end their waiting.
  private var entries: [Key: (page: PageInstance, opening: Task<Void, any Error>, expiry: Task<Void, Never>)] = [:]
  private let broadcast = Broadcast<Event>()

  package nonisolated init(limits: Limits = Limits()) { self.limits = limits }

  /// The events from now on. A reader that falls behind by more than 1,000 loses the oldest.
  package var events: AsyncStream<Event> { broadcast.listen() }

  /// The number of pages that wait or are being rendered.
  package var count: Int { entries.count }

  /// Renders a page ahead, and returns when it is ready: when its requests have ended too, or its time is up. A page that
  /// waits already stays.
  ///
  /// - Throws: ``PrerenderError/full(limit:)``, ``PageError``.
  package func prerender(
    _ url: String, options: PageOptions = PageOptions(), data: ScriptValue = [:], make: () -> PageInstance
  ) async throws {
    let key = Key(url: url, options: options, data: data)
    if let entry = entries[key] {
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
      await self?.drop(key, page, .expired(url))
    }
    entries[key] = (page, opening, expiry)
    do {
      try await opening.value
      await page.settle(within: limit, timers: .zero)
      if entries[key]?.page === page { tell(.ready(url)) }
    } catch {
      await drop(key, page, .failed(url, reason: "\(error)"))
      throw error
    }
  }

  /// Hands the page that was rendered ahead over to the caller, or returns `nil` if there is none.
  ///
  /// - Throws: ``PageError`` if the page is still being opened, and fails.
  package func take(_ url: String, options: PageOptions, data: ScriptValue) async throws -> PageInstance? {
    guard let entry = entries.removeValue(forKey: Key(url: url, options: options, data: data)) else { return nil }
    entry.expiry.cancel()
    tell(.taken(url))
    try await entry.opening.value
    return entry.page.phase == .live ? entry.page : nil
  }

  /// Drops all pages, since they may be out of date.
  package func empty() async {
    let gone = entries
    entries = [:]
    for (key, entry) in gone {
      entry.expiry.cancel()
      tell(.outdated(key.url))
      await entry.page.destroy()
    }
  }

  private func drop(_ key: Key, _ page: PageInstance, _ event: Event) async {
    guard entries[key]?.page === page else { return }
    entries.removeValue(forKey: key)?.expiry.cancel()
    tell(event)
    await page.destroy()
  }

  private func tell(_ event: Event) { broadcast.send(event) }
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
