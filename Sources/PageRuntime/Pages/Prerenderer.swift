import Foundation
import HTTPTransport
import ScriptEngine

/// Pages that are rendered before anybody wants to see them. Each is there for a while, and for one who opens the same
/// URL with the same options and data.
@PageActor public final class Prerenderer {
  public struct Limits: Hashable, Sendable {
    /// Pages at once; one more is refused.
    public var pages = 3
    /// How long a page waits, counted from its being asked for.
    public var timeToLive: Duration = .seconds(60)

    public init() {}
  }

  /// What came of a page that was to be rendered ahead.
  public enum Event: Hashable, Sendable {
    case ready(String)
    case taken(String)
    case failed(String, reason: String)
    /// Nobody opened it in time.
    case expired(String)
    /// A new launch or another user began, or its memory was wanted: what it shows may be another now.
    case outdated(String)
  }

  private struct Key: Hashable {
    let url: String
    let options: PageOptions
    let data: ScriptValue
  }

  private struct Entry {
    let page: PageInstance
    let opening: Task<Void, any Error>
    let expiry: Task<Void, Never>
  }

  private let limits: Limits
  private var entries: [Key: Entry] = [:]
  private let broadcast = Broadcast<Event>()

  package nonisolated init(limits: Limits = Limits()) { self.limits = limits }

  /// What happens from now on.
  public var events: AsyncStream<Event> { broadcast.listen() }

  /// Pages that wait, or are being rendered.
  public var count: Int { entries.count }

  /// Renders a page ahead, and returns when it is ready: when what it has asked for has come too, or its time is up. One
  /// that is there already stays.
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
    entries[key] = Entry(page: page, opening: opening, expiry: expiry)
    do {
      try await opening.value
      await page.settle(within: limit, timers: .zero)
      if entries[key]?.page === page { tell(.ready(url)) }
    } catch {
      await drop(key, page, .failed(url, reason: "\(error)"))
      throw error
    }
  }

  /// The page that was rendered ahead for this; nil where there is none. It is the caller's from now on.
  ///
  /// - Throws: ``PageError`` where it is still being opened, and fails.
  package func take(_ url: String, options: PageOptions, data: ScriptValue) async throws -> PageInstance? {
    guard let entry = entries.removeValue(forKey: Key(url: url, options: options, data: data)) else { return nil }
    entry.expiry.cancel()
    tell(.taken(url))
    try await entry.opening.value
    return entry.page.phase == .live ? entry.page : nil
  }

  /// Lets go of all pages: what they show may be out of date.
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

/// Why a page is not rendered ahead.
public enum PrerenderError: Error, Hashable, Sendable, CustomStringConvertible {
  case full(url: String, limit: Int)

  public var description: String {
    switch self {
    case .full(let url, let limit):
      "\(url) is not rendered ahead: \(limit) pages wait already, which is the limit (HostConfiguration.prerendering)"
    }
  }
}
