import ScriptEngine

/// The native side of `BroadcastChannel`: messages between pages, also of different script engines.
enum ChannelModule {
  static func register(_ table: inout ModuleTable) {
    table.add(
      "broadcastChannel", "open",
      .deferred { call, page in
        guard let name = call[0].string, let handle = call[1].string, let callback = call.callback(at: 2) else {
          return
        }
        page.environment.channels.open(name, page, handle, callback)
      })
    table.add(
      "broadcastChannel", "close",
      .deferred { call, page in
        guard let name = call[0].string, let handle = call[1].string else { return }
        page.environment.channels.close(name, page, handle)
      })
    table.add(
      "broadcastChannel", "post",
      .deferred { call, page in
        guard let name = call[0].string, let handle = call[1].string else { return }
        await page.environment.channels.post(call[2], to: name, from: page, handle)
      })
  }
}

/// The listeners of each channel, among the pages of one host.
@PageActor final class Channels {
  private struct Listener {
    weak var page: PageInstance?
    let handle: String
    let callback: String
  }

  private var listeners: [String: [Listener]] = [:]

  nonisolated init() {}

  func open(_ name: String, _ page: PageInstance, _ handle: String, _ callback: String) {
    listeners[name, default: []].removeAll { $0.page == nil || $0.page?.phase == .destroyed }
    listeners[name, default: []].append(Listener(page: page, handle: handle, callback: callback))
  }

  func close(_ name: String, _ page: PageInstance, _ handle: String) {
    listeners[name]?.removeAll { $0.page == nil || $0.page === page && $0.handle == handle }
  }

  /// Sends a message to all listeners of the name except the sender.
  func post(_ message: ScriptValue, to name: String, from page: PageInstance, _ handle: String) async {
    for listener in listeners[name] ?? [] where !(listener.page === page && listener.handle == handle) {
      try? await listener.page?.callback(listener.callback, message, keepAlive: true)
    }
  }
}
