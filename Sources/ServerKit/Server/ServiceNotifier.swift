import Dispatch
import Foundation
import HTTPTransport
import Logging
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Notifies systemd of the daemon's state, by datagrams to the socket in `NOTIFY_SOCKET`, see sd_notify(3).
struct ServiceNotifier: Sendable {
  enum Message: Equatable, Sendable {
    case ready, stopping, watchdog
    /// The microseconds of the monotonic clock, which `Type=notify-reload` requires.
    case reloading(monotonic: UInt64)
    case status(String)

    var text: String {
      switch self {
      case .ready: "READY=1"
      case .stopping: "STOPPING=1"
      case .watchdog: "WATCHDOG=1"
      case .reloading(let monotonic): "RELOADING=1\nMONOTONIC_USEC=\(monotonic)"
      case .status(let text): "STATUS=\(String(text.prefix(1_000)).replacing("\n", with: " "))"
      }
    }
  }

  /// A path, or an abstract name after `@`; `nil` without systemd.
  let socket: String?
  /// The interval in which the watchdog expects a message; `nil` if the watchdog is off.
  let watchdog: Duration?

  init(environment: [String: String], pid: Int32 = getpid()) {
    socket = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
    let isForUs = environment["WATCHDOG_PID"].map { $0 == "\(pid)" } ?? true
    watchdog =
      isForUs
      ? environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap { $0 > 0 ? .microseconds($0) : nil } : nil
  }

  /// Sends a message without waiting. Returns `true` if it was sent.
  @discardableResult
  func send(_ message: Message) -> Bool {
    guard let socket else { return false }
    #if os(Linux)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      // An abstract name begins with a zero byte, unix(7).
      var path = Array(socket.utf8)
      if path.first == UInt8(ascii: "@") { path[0] = 0 }
      guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
      let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { return false }
      defer { close(descriptor) }
      let length = socklen_t(MemoryLayout.offset(of: \sockaddr_un.sun_path) ?? 2) + socklen_t(path.count)
      let bytes = Array(message.text.utf8)
      let sent = withUnsafePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          sendto(
            descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT), $0, length)
        }
      }
      return sent == bytes.count
    #else
      return false
    #endif
  }

  /// The time for ``Message/reloading(monotonic:)``.
  static var monotonic: UInt64 { DispatchTime.now().uptimeNanoseconds / 1000 }
}

/// Notifies systemd when the host listens and `/readyz` would succeed. Until then, and after each change, the unit's
/// status line contains the missing checks.
///
/// While its source is unavailable and nothing is stored, the host runs without being ready: systemd's limit
/// (`TimeoutStartSec=`) ends such a start.
final class ReadinessService: Service {
  /// The number of listeners that are not listening yet, whether systemd was told that the host is ready, and the status
  /// line.
  private typealias State = (listeners: Int, isReady: Bool, line: String?)

  private let notifier: ServiceNotifier
  private let checks: [HealthCheck]
  private let interval: (before: Duration, after: Duration)
  private let state: Mutex<State>

  /// - Parameters:
  ///   - listeners: the number of listeners.
  ///   - interval: the times between two checks, before the host is ready and after.
  init(
    _ notifier: ServiceNotifier, checks: [HealthCheck], listeners: Int,
    interval: (before: Duration, after: Duration) = (.milliseconds(200), .seconds(5))
  ) {
    (self.notifier, self.checks, self.interval) = (notifier, checks, interval)
    state = Mutex((listeners, false, nil))
  }

  /// Records that a listener is listening.
  func listens() { state.withLock { $0.listeners -= 1 } }

  /// `true` once systemd was told that the host is ready.
  var isReady: Bool { state.withLock(\.isReady) }

  func run() async throws {
    try? await cancelWhenGracefulShutdown { [self] in
      while true {
        let isReady = await look()
        try await Task.sleep(for: isReady ? interval.after : interval.before)
      }
    }
  }

  /// - Returns: `true` if systemd was told that the host is ready.
  func look() async -> Bool {
    guard notifier.socket != nil else { return true }
    let found = await checks.outcomes().filter { !$0.ok }
    let messages = state.withLock { state in
      Self.messages(&state, found.filter(\.isFailure).map(\.text), warnings: found.filter { !$0.isFailure }.map(\.text))
    }
    for message in messages { notifier.send(message) }
    return isReady
  }

  private static func messages(
    _ state: inout State, _ problems: [String], warnings: [String]
  ) -> [ServiceNotifier.Message] {
    var messages: [ServiceNotifier.Message] = []
    let missing = (state.listeners <= 0 ? [] : ["the host is not listening yet"]) + problems
    let text =
      missing.isEmpty
      ? "Ready" + (warnings.isEmpty ? "" : ", but \(warnings.joined(separator: "; "))")
      : "Not ready: \((missing + warnings).joined(separator: "; "))"
    if state.line != text { messages.append(.status(text)) }
    state.line = text
    if missing.isEmpty, !state.isReady {
      state.isReady = true
      messages.append(.ready)
    }
    return messages
  }
}

extension HealthCheck.Outcome {
  fileprivate var text: String { reason ?? name }
}

extension ServiceNotifier {
  /// Notifies systemd's watchdog twice in each interval, and reports when the host stops.
  var watchdogService: BackgroundService {
    BackgroundService("watchdog") {
      try? await cancelWhenGracefulShutdown {
        while true {
          send(.watchdog)
          try await Task.sleep(for: watchdog.map { $0 / 2 } ?? .seconds(3600))
        }
      }
      send(.stopping)
    }
  }
}

/// Handles SIGHUP: reads the settings and the certificate again, and starts a new launch.
package struct HangupService: Service {
  let notifier: ServiceNotifier
  let readiness: ReadinessService
  let tls: TLSReloader?
  /// Reads the settings again, and applies all that can be applied or nothing. Returns the changes, each in words; `nil`
  /// for a host whose settings are read once.
  var reconfigure: (@Sendable () async throws -> [String])?
  let relaunch: @Sendable () async throws -> Void
  let logger: Logger

  package func run() async throws {
    let signals = await UnixSignalsSequence(trapping: .sighup)
    for await _ in signals.cancelOnGracefulShutdown() { await reload() }
  }

  /// Reads the settings and the certificate again, and starts a new launch. A failure is logged, and the previous state
  /// stays; if the settings cannot be used, nothing changes.
  func reload() async {
    // During the start, ReadinessService sends the first READY=1.
    let wasReady = readiness.isReady
    if wasReady { notifier.send(.reloading(monotonic: ServiceNotifier.monotonic)) }
    defer { if wasReady { notifier.send(.ready) } }
    if let reconfigure {
      do {
        let changes = try await reconfigure()
        let text = changes.isEmpty ? "nothing has changed" : changes.joined(separator: "; ")
        logger.notice("The settings were read again: \(text)")
      } catch {
        return logger.error("Nothing is changed: \(error.sentence)")
      }
    }
    if let tls {
      do {
        try tls.reload()
        logger.notice("The certificate was read again")
        if let problem = tls.validity.problem(at: Date()) { logger.warning("\(problem)") }
      } catch {
        logger.error("The former certificate stays: \(error.sentence)")
      }
    }
    do {
      try await relaunch()
      logger.notice("A new launch has begun")
    } catch {
      logger.error("The new launch failed: \(error.sentence)")
    }
  }
}
