import Foundation
import Hummingbird

/// Decides which addresses the daemon listens on, and which routes each of them serves.
///
/// Bundles and releases are open to everybody; pages, dashboard, status, metrics and administration are for the
/// daemon's operator. Other machines reach the latter only if the settings permit it, and then only with the admin's
/// token.
package struct ListenerPlan: Equatable, Sendable {
  package struct Listener: Equatable, Sendable {
    /// The setting that contains its address.
    package let key: SettingKey
    package let host: String
    /// The port; 0 for any free one.
    package let port: Int
    package let groups: Set<RouteGroup>
    /// `true` if it uses TLS.
    package let isSecure: Bool
    /// `true` if the routes that are not open to everybody require the admin's token.
    let asksToken: Bool

    package var address: String { "\(SettingText.bracketed(host)):\(port)" }
    /// `true` if it serves the routes that are open to everybody.
    package var isPublic: Bool { groups.contains(.bundles) }
    /// Its groups that are not open to everybody, except administration, which always requires the token.
    fileprivate var guarded: Set<RouteGroup> { groups.filter { !$0.isOpen && $0 != .admin } }
  }

  /// The listeners. The public one is last, so that it is stopped first while the other still answers.
  let listeners: [Listener]
  /// The reason why the daemon does not start with this plan, in one sentence; `nil` if it starts.
  package let refusal: String?
  /// The warnings at the start, each one sentence.
  package let warnings: [String]

  package init(_ settings: ServerSettings) {
    let isLocal = Self.isLoopback(settings.address)
    let admin = settings.adminListen ?? (isLocal ? nil : ("127.0.0.1", 0))
    func listener(_ key: SettingKey, _ address: (host: String, port: Int), _ groups: Set<RouteGroup>) -> Listener {
      let isLocal = Self.isLoopback(address.host)
      return Listener(
        key: key, host: address.host, port: address.port, groups: groups,
        // A loopback listener needs no certificate; a public one has the configured one.
        isSecure: settings.certificate != nil && (key == .listen || !isLocal),
        asksToken: !isLocal && !settings.allowsInsecureAdmin)
    }
    let all = Set(RouteGroup.allCases)
    var carried = all
    if admin != nil {
      carried = settings.publicRoutes.union(all.filter(\.isOpen))
      // The dashboard needs the status.
      if carried.contains(.dashboard) { carried.insert(.status) }
    }
    let served = listener(.listen, (settings.address, settings.port), carried)
    listeners = (admin.map { [listener(.adminListen, $0, all.subtracting([.bundles]))] } ?? []) + [served]
    let distant = listeners.filter { !Self.isLoopback($0.host) }
    refusal =
      Self.conflict(listeners)
      ?? (settings.adminTokens.isEmpty
        ? distant.first { $0.asksToken && !$0.guarded.isEmpty }.map(Self.refusal) : nil)
    warnings = distant.flatMap { Self.warnings($0, hasToken: !settings.adminTokens.isEmpty) }
  }

  /// The listener that serves administration and the other routes that are not open to everybody.
  package var admin: Listener? { listeners.first }

  /// Returns `true` if only this machine can reach an address: RFC 6761 §6.3 reserves `localhost` for that.
  package static func isLoopback(_ host: String) -> Bool {
    HostAddress(host: host).map { AddressKind($0) == .loopback } ?? (host.lowercased() == "localhost")
  }

  private static func conflict(_ listeners: [Listener]) -> String? {
    guard let first = listeners.first, listeners.count > 1, first.port != 0,
      listeners.dropFirst().contains(where: { $0.address == first.address })
    else { return nil }
    return "--listen and --admin-listen are both \(first.address): give them different ports, or name with --public "
      + "the groups that --listen serves besides bundles"
  }

  private static func refusal(_ listener: Listener) -> String {
    let (setting, other) =
      listener.isPublic ? ("--public", "do not name them") : (listener.key.flag, "listen on 127.0.0.1")
    return "\(setting): \(listener.guarded.list) would answer everybody who can reach \(listener.address), since there "
      + "is no admin token: give one (--admin-token-file), \(other), or give --insecure-admin"
  }

  private static func warnings(_ listener: Listener, hasToken: Bool) -> [String] {
    var warnings: [String] = []
    if !listener.asksToken, !listener.guarded.isEmpty {
      warnings.append(
        "\(listener.guarded.list) answer everybody who can reach \(listener.address) (--insecure-admin)")
    }
    if hasToken, !listener.isSecure, !listener.groups.allSatisfy(\.isOpen) {
      warnings.append(
        "the admin token is sent in clear to \(listener.address): give --tls-cert and --tls-key, or listen on 127.0.0.1"
      )
    }
    return warnings
  }
}

/// The routes of one listener, to which others are added group by group.
///
/// Routes of groups that a listener does not serve are unknown there.
package struct ListenerRoutes {
  package let router: Router<HostRequestContext>
  package let listener: ListenerPlan.Listener
  package let rules: SiteRules
  /// Checks the token; `nil` if none is set.
  let authenticator: AdminAuthenticator?
  package let metrics: HostMetrics
  /// The certificate of the listeners with TLS; `nil` if there is none.
  package let tls: TLSReloader?

  package func carries(_ group: RouteGroup) -> Bool { listener.groups.contains(group) }

  /// Adds a group's routes behind its access checks if the listener serves the group.
  ///
  /// - Parameters:
  ///   - sessions: lets browsers in that have a cookie or a ticket in place of the token; `nil` for none.
  ///   - grants: tells whether a request for administration shows a right in place of the token; `nil` if none can.
  package func add(
    _ group: RouteGroup, sessions: BrowserSessions? = nil, granting grants: (@Sendable (Request) -> Bool)? = nil,
    _ add: (RouterGroup<HostRequestContext>) -> Void
  ) {
    guard carries(group) else { return }
    let routes = router.group()
    if !group.isOpen {
      routes.add(
        middleware: CallerMiddleware(
          rules: rules, group: group, authenticator: authenticator,
          asksToken: listener.asksToken, sessions: sessions, isSecure: listener.isSecure, metrics: metrics,
          grants: grants))
    }
    add(routes)
  }
}

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
