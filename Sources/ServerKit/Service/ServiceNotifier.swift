import Dispatch
import Foundation

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
