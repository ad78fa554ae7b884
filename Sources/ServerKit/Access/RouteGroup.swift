/// Routes that a listener carries together, or not at all.
package enum RouteGroup: String, CaseIterable, Sendable {
  /// Bundles and files of releases, the manifest, the checksums, the releases and their events, and the webhook, which
  /// is signed.
  case bundles
  /// `/healthz` and `/readyz`.
  case health
  /// Pages and their previews, `/render`, and `/resources` for what previews refer to.
  case pages
  /// `/`
  case dashboard
  case status
  case metrics
  /// `/admin`, which asks for the token wherever it is.
  case admin

  /// True if its routes are for everybody, on whatever listener.
  package var isOpen: Bool { self == .bundles || self == .health }

  /// The groups that a public listener carries only if the settings name them.
  package static let guarded = allCases.filter { !$0.isOpen }
}

extension Sequence where Element == RouteGroup {
  /// As sentences have them, in their order: `pages, status and metrics`.
  package var list: String {
    let names = Set(self)
    let words = RouteGroup.allCases.filter(names.contains).map(\.rawValue)
    guard words.count > 1, let last = words.last else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " and " + last
  }
}
