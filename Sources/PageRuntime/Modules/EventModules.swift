import ScriptEngine

/// `globalEvent`: events of the app.
extension ModuleTable {
  static func addGlobalEvents(to table: inout ModuleTable) {
    table.add(
      "globalEvent", "addEventListener",
      .deferred { call, page in
        guard let type = call[0].string, let callback = call.callback(at: 1) else { return }
        page.globalListeners[type, default: []].append(callback)
      })
    table.add(
      "globalEvent", "removeEventListener",
      .deferred { call, page in
        if let type = call[0].string { page.globalListeners[type] = nil }
      })
  }
}

extension PageInstance {
  /// Fires an event of the app, for the page's listeners of the module `globalEvent`.
  ///
  /// - Parameters:
  ///   - type: the event's type, such as `networkChange`.
  ///   - event: the argument of the listeners.
  /// - Throws: ``ScriptError/closed`` if the page has no script.
  public func fireGlobalEvent(_ type: String, _ event: ScriptValue = [:]) async throws {
    for callback in globalListeners[type] ?? [] { try await self.callback(callback, event, keepAlive: true) }
  }
}

/// The host's side of `BroadcastChannel`: messages between pages, which have script engines of their own. Those between
/// channels of one page stay in its script.
extension ModuleTable {
  static func addChannels(to table: inout ModuleTable) {
    table.add(
      "broadcastChannel", "open",
      .deferred { call, page in if let name = call[0].string { page.environment.channels.open(name, page) } })
    table.add(
      "broadcastChannel", "close",
      .deferred { call, page in if let name = call[0].string { page.environment.channels.close(name, page) } })
    table.add(
      "broadcastChannel", "post",
      .deferred { call, page in
        if let name = call[0].string { await page.environment.channels.post(call[1], to: name, from: page) }
      })
  }
}

/// Passes messages on between the pages of one host that are in the same scope.
@PageActor final class Channels {
  /// The pages of a scope that have a channel of a name open.
  private struct Key: Hashable {
    let scope: String
    let name: String
  }

  private struct Listener {
    weak var page: PageInstance?
  }

  private var listeners: [Key: [Listener]] = [:]
  private nonisolated let outlet: ChannelOutlet?

  nonisolated init(outlet: ChannelOutlet?) { self.outlet = outlet }

  func open(_ name: String, _ page: PageInstance) {
    let key = Key(scope: page.channelScope, name: name)
    listeners[key, default: []].removeAll { $0.page == nil || $0.page?.phase == .destroyed || $0.page === page }
    listeners[key, default: []].append(Listener(page: page))
  }

  func close(_ name: String, _ page: PageInstance) {
    let key = Key(scope: page.channelScope, name: name)
    listeners[key]?.removeAll { $0.page == nil || $0.page === page }
    if listeners[key]?.isEmpty == true { listeners[key] = nil }
  }

  /// Ends all channels of a page.
  func close(_ page: PageInstance) {
    for key in listeners.keys where key.scope == page.channelScope { close(key.name, page) }
  }

  /// Sends a message to all other pages that have a channel of the name open.
  func post(_ message: ScriptValue, to name: String, from page: PageInstance) async {
    await deliver(message, to: name, in: page.channelScope, except: page)
    await outlet?(page, name, message)
  }

  /// Delivers a message to the pages of a scope. No page waits for another one's script.
  func deliver(_ message: ScriptValue, to name: String, in scope: String, except sender: PageInstance? = nil) async {
    let pages = (listeners[Key(scope: scope, name: name)] ?? []).compactMap(\.page).filter { $0 !== sender }
    let deliveries = pages.map { page in Task { @PageActor in await page.receive(message, from: name) } }
    for delivery in deliveries { await delivery.value }
  }
}
