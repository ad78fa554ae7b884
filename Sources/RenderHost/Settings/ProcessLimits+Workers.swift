import ServerKit

/// The effects of this process's limits on its workers.
extension ProcessLimits {
  /// The reason why workers may not become ready; `nil` if there is none.
  var addressSpaceProblem: String? {
    addressSpace.map {
      "the address space of a process is limited to \($0 >> 20) MiB (ulimit -v), and the script engine reserves more than "
        + "it uses: remove that limit, --worker-memory bounds what workers use"
    }
  }

  /// The warnings at the start, each one sentence.
  func warnings(_ settings: Settings) -> [String] {
    let hasWorkers = settings.bundles != nil || settings.manifest != nil
    return warnings(settings.server) + (hasWorkers ? [addressSpaceProblem].compactMap(\.self) : [])
  }
}
