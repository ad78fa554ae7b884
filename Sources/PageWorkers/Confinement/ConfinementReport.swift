/// The confinement of a worker: the steps that succeeded, and those that failed.
package struct ConfinementReport: Hashable, Sendable, Codable {
  /// `network`, `files`, `privileges`, …
  package internal(set) var dropped: [String] = []
  /// The failed steps by name, with the reason.
  package internal(set) var kept: [String: String] = [:]

  mutating func note(_ name: String, _ failure: String?) {
    if let failure { kept[name] = failure } else { dropped.append(name) }
  }

  /// The report in a line.
  package var summary: String {
    let kept = kept.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value))" }.joined(separator: ", ")
    return "dropped: \(dropped.joined(separator: ", "))" + (kept.isEmpty ? "" : "; could not be dropped: \(kept)")
  }
}
