import Foundation

/// What the system lets this process have, and what follows from it.
struct ProcessLimits: Hashable, Sendable {
  /// Files, sockets and the like that may be open at once (`ulimit -n`); `nil` for no limit.
  var descriptors: Int?
  /// Bytes of address space (`ulimit -v`), for workers too; `nil` for no limit.
  var addressSpace: Int?

  static var current: ProcessLimits {
    ProcessLimits(descriptors: soft(RLIMIT_NOFILE), addressSpace: soft(RLIMIT_AS))
  }

  private static func soft(_ resource: __rlimit_resource) -> Int? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else { return nil }
    // RLIM_INFINITY is the greatest number.
    return limit.rlim_cur == .max ? nil : Int(clamping: limit.rlim_cur)
  }

  /// Raises the number of descriptors to what the process may have.
  static func raise() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  // MARK: Descriptors

  /// With fewer there is not enough for the store, the listeners, a few workers and a few clients (measured: 39 are open
  /// with two workers and no client).
  static let leastDescriptors = 128
  private static let mostConnections = 4_096

  /// Why the process cannot run; `nil` if it can.
  var problem: String? {
    guard let descriptors, descriptors < Self.leastDescriptors else { return nil }
    return
      "only \(descriptors) files may be open at once, at least \(Self.leastDescriptors) are needed: raise ulimit -n"
  }

  /// Connections of each listener: as many as are wanted, but never more than leave a reserve. Without a free descriptor
  /// libdispatch ends the process, since it cannot look at its threads in /proc.
  func connections(_ settings: Settings) -> Int {
    let affordable = affordableConnections(settings)
    return min(settings.limits.connections ?? Self.mostConnections, affordable)
  }

  /// The reserve is for what is open without clients: the store, event loops, workers, downloads. A quarter of the rest
  /// is for files and requests of pages. What is left goes to the listeners, in equal parts; a gateway takes two of
  /// them, since its clients may need a connection to an origin and a file each.
  private func affordableConnections(_ settings: Settings) -> Int {
    guard let descriptors else { return .max }
    let spare = max(descriptors - 64 - 8 * settings.workers, 0)
    let parts = ListenerPlan(settings).listeners.count + (settings.gateway == nil ? 0 : 2)
    return max(spare * 3 / (4 * parts), descriptors / 8)
  }

  // MARK: Address space

  /// Why workers may not become ready; `nil` if nothing speaks against it.
  var addressSpaceProblem: String? {
    addressSpace.map {
      "the address space of a process is limited to \($0 >> 20) MiB (ulimit -v), and the script engine reserves more than "
        + "it uses: remove that limit, --worker-memory bounds what workers use"
    }
  }

  /// What is worth saying at the start.
  func warnings(_ settings: Settings) -> [String] {
    var warnings: [String] = []
    if let wanted = settings.limits.connections, wanted > affordableConnections(settings) {
      warnings.append(
        "--max-connections is \(wanted), but \(descriptors ?? 0) open files (ulimit -n) leave room for "
          + "\(affordableConnections(settings)): more wait to be accepted")
    }
    if settings.bundles != nil || settings.manifest != nil, let problem = addressSpaceProblem {
      warnings.append(problem)
    }
    return warnings
  }
}
