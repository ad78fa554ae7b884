import ServiceLifecycle

/// Notifies systemd's watchdog twice in each interval, and reports when the host stops.
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
