/// A group of routes. A listener has all routes of a group or none.
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
  /// `/admin`, which requires the token on every listener.
  case admin

  /// `true` if any listener may serve its routes to everybody.
  package var isOpen: Bool { self == .bundles || self == .health }

  /// The groups that a public listener serves only if the settings name them.
  package static let guarded = allCases.filter { !$0.isOpen }
}

extension Sequence where Element == RouteGroup {
  /// The groups as a list in a sentence, in their order: `pages, status and metrics`.
  package var list: String {
    let names = Set(self)
    let words = RouteGroup.allCases.filter(names.contains).map(\.rawValue)
    guard words.count > 1, let last = words.last else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " and " + last
  }
}
