import ServiceLifecycle

/// Pats systemd's watchdog, twice as often as it asks for, and says when the host stops.
struct WatchdogService: Service {
  let notifier: ServiceNotifier

  func run() async throws {
    let wait = notifier.watchdog.map { $0 / 2 } ?? .seconds(3600)
    try? await cancelWhenGracefulShutdown {
      while true {
        notifier.send(.watchdog)
        try await Task.sleep(for: wait)
      }
    }
    notifier.send(.stopping)
  }
}
