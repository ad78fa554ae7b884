import ScriptEngine

extension ModuleTable {
  /// `event`: opening a URL, as `navigator.push` does.
  static let event: [String: ModuleMethod] = [
    "openURL": .deferred { call, page in try await push(call, call[0], page, answering: call.callback(at: 1)) }
  ]

  /// `globalEvent`: events of the app.
  static let globalEvent: [String: ModuleMethod] = [
    "addEventListener": .deferred { call, page in
      guard let type = call[0].string, let callback = call.callback(at: 1) else { return }
      page.globalListeners[type, default: []].append(callback)
    },
    "removeEventListener": .deferred { call, page in
      if let type = call[0].string { page.globalListeners[type] = nil }
    },
  ]
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

extension ModuleTable {
  /// The host's side of `BroadcastChannel`: messages between pages, which have script engines of their own. Those between
  /// channels of one page stay in its script.
  static let broadcastChannel: [String: ModuleMethod] = [
    "open": .deferred { call, page in if let name = call[0].string { page.environment.openChannel(name, of: page) } },
    "close": .deferred { call, page in
      if let name = call[0].string { page.environment.closeChannel(name, of: page) }
    },
    "post": .deferred { call, page in
      if let name = call[0].string { await page.environment.post(call[1], toChannel: name, from: page) }
    },
  ]
}

/// Messages between the pages of one host that are in the same scope.
@PageActor extension PageEnvironment {
  fileprivate func openChannel(_ name: String, of page: PageInstance) {
    closeChannel(name, of: page)
    channels[page.channelScope, default: [:]][name, default: []].append { [weak page] in page }
  }

  fileprivate func closeChannel(_ name: String, of page: PageInstance) {
    let left = (channels[page.channelScope]?[name] ?? []).filter { listener in
      listener().map { $0 !== page && $0.phase != .destroyed } ?? false
    }
    channels[page.channelScope]?[name] = left.isEmpty ? nil : left
    if channels[page.channelScope]?.isEmpty == true { channels[page.channelScope] = nil }
  }

  /// Ends all channels of a page.
  func closeChannels(of page: PageInstance) {
    for name in Array((channels[page.channelScope] ?? [:]).keys) { closeChannel(name, of: page) }
  }

  /// Sends a message to all other pages that have a channel of the name open.
  fileprivate func post(_ message: ScriptValue, toChannel name: String, from page: PageInstance) async {
    await deliver(message, toChannel: name, in: page.channelScope, except: page)
    await channelOutlet?(page, name, message)
  }

  /// Delivers a message to the pages of a scope that have a channel of the name open. No page waits for another one's
  /// script.
  ///
  /// - Parameter sender: the page that sent it; `nil` for one outside this process.
  package func deliver(
    _ message: ScriptValue, toChannel name: String, in scope: String, except sender: PageInstance? = nil
  ) async {
    let pages = (channels[scope]?[name] ?? []).compactMap { $0() }.filter { $0 !== sender }
    let deliveries = pages.map { page in Task { @PageActor in await page.receive(message, from: name) } }
    for delivery in deliveries { await delivery.value }
  }
}
