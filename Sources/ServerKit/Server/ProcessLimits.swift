import Blobs
import CLinux
import Dispatch
import Foundation
import HTTPTransport
import ServiceLifecycle

/// The limits that the system sets for this process, and the values derived from them.
package struct ProcessLimits: Hashable, Sendable {
  /// The limit of open files, sockets and the like (`ulimit -n`); `nil` for no limit.
  var descriptors: Int?
  /// The limit of the address space in bytes (`ulimit -v`), which workers inherit; `nil` for no limit.
  package var addressSpace: Int?

  package static var current: ProcessLimits {
    var limit = rlimit()
    let isKnown = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    return ProcessLimits(
      // RLIM_INFINITY is the largest number.
      descriptors: isKnown && limit.rlim_cur != .max ? Int(clamping: limit.rlim_cur) : nil,
      addressSpace: AddressSpace.limit)
  }

  /// Raises the soft limit of descriptors to the hard limit.
  package static func raise() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  // MARK: Descriptors

  /// The minimum for the store, the listeners, a few workers and a few clients (39 were open with two workers and no
  /// client).
  static let leastDescriptors = 128
  private static let mostConnections = 4_096

  /// The reason why the process cannot run; `nil` if it can.
  package var problem: String? {
    if let descriptors, descriptors < Self.leastDescriptors {
      return
        "only \(descriptors) files may be open at once, at least \(Self.leastDescriptors) are needed: raise ulimit -n"
    }
    return AddressSpace.problem(of: addressSpace)
  }

  /// The number of connections of each listener: as many as are wanted, less if they would use up the reserve. Without
  /// a free descriptor libdispatch ends the process, since it cannot read its threads from /proc.
  package func connections(_ settings: ServerSettings) -> Int {
    let affordable = affordableConnections(settings)
    return min(settings.limits.connections ?? Self.mostConnections, affordable)
  }

  /// The reserve is for files that are open without clients. A quarter of the rest is for files that requests open. The
  /// remainder is divided equally between the listeners and other users of a share.
  private func affordableConnections(_ settings: ServerSettings) -> Int {
    guard let descriptors else { return .max }
    let spare = max(descriptors - settings.reservedFiles, 0)
    let parts = ListenerPlan(settings).listeners.count + settings.furtherShares
    return max(spare * 3 / (4 * parts), descriptors / 8)
  }

  /// The warnings at the start, each one sentence.
  package func warnings(_ settings: ServerSettings) -> [String] {
    let affordable = affordableConnections(settings)
    guard let wanted = settings.limits.connections, wanted > affordable else { return [] }
    return [
      "--max-connections is \(wanted), but \(descriptors ?? 0) open files (ulimit -n) leave room for \(affordable): "
        + "more wait to be accepted"
    ]
  }
}

extension BackgroundService {
  /// Returns freed memory to the system: the allocator keeps the memory of a peak, in one arena for each thread.
  static var freedMemory: BackgroundService {
    let queue = DispatchQueue(label: "renderhost.memory")
    // Freed bytes up to this number are kept for later use.
    let kept = 16 << 20
    return BackgroundService("freed memory") {
      try? await cancelWhenGracefulShutdown {
        while true {
          try await Task.sleep(for: .seconds(5))
          try await queue.result {
            if mallinfo2().fordblks > kept { malloc_trim(0) }
          }
        }
      }
    }
  }
}
