import Foundation

/// The addresses that the daemon listens on, and the routes that answer there. Pure.
///
/// Bundles and releases are for everybody; pages, dashboard, status, metrics and administration are for the daemon's
/// operator. Other machines reach them only if the settings say so, and then only with the admin's token.
package struct ListenerPlan: Equatable, Sendable {
  package struct Listener: Equatable, Sendable {
    /// The setting that has its address.
    package let key: SettingKey
    package let host: String
    /// 0 for any that is free.
    package let port: Int
    package let groups: Set<RouteGroup>
    /// True if it serves TLS.
    package let isSecure: Bool
    /// True if routes that are not for everybody ask for the admin's token.
    let asksToken: Bool

    package var address: String { "\(SettingText.bracketed(host)):\(port)" }
    /// True if it carries the routes that are for everybody.
    package var isPublic: Bool { groups.contains(.bundles) }
    /// The groups it carries that are not for everybody, besides administration, which always asks for the token.
    fileprivate var guarded: Set<RouteGroup> { groups.filter { !$0.isOpen && $0 != .admin } }
  }

  /// The public one last: it is stopped first, and the other tells how that goes.
  let listeners: [Listener]
  /// The reason why the daemon refuses to start with this plan, in one sentence; `nil` if it starts.
  package let refusal: String?
  /// Warnings for the start, each one sentence.
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
      // The one is nothing without the other.
      if carried.contains(.dashboard) { carried.insert(.status) }
    }
    let served = listener(.listen, (settings.address, settings.port), carried)
    listeners = (admin.map { [listener(.adminListen, $0, all.subtracting([.bundles]))] } ?? []) + [served]
    let distant = listeners.filter { !Self.isLoopback($0.host) }
    refusal =
      Self.conflict(listeners)
      ?? (settings.adminToken == nil
        ? distant.first { $0.asksToken && !$0.guarded.isEmpty }.map(Self.refusal) : nil)
    warnings = distant.flatMap { Self.warnings($0, hasToken: settings.adminToken != nil) }
  }

  /// The one that carries administration, and everything else that is not for everybody.
  package var admin: Listener? { listeners.first }

  /// Returns `true` if only this machine can reach an address: `localhost` is meant to be nothing else, RFC 6761 §6.3.
  private static func isLoopback(_ host: String) -> Bool {
    HostAddress(host: host).map { AddressKind($0) == .loopback } ?? (host.lowercased() == "localhost")
  }

  private static func conflict(_ listeners: [Listener]) -> String? {
    guard let first = listeners.first, listeners.count > 1, first.port != 0,
      listeners.dropFirst().contains(where: { $0.address == first.address })
    else { return nil }
    return "--listen and --admin-listen are both \(first.address): give them two ports, or name with --public what "
      + "--listen carries besides bundles"
  }

  private static func refusal(_ listener: Listener) -> String {
    let (setting, other) =
      listener.isPublic ? ("--public", "do not name them") : (listener.key.flag, "listen on 127.0.0.1")
    return "\(setting): \(listener.guarded.list) would answer everybody who can reach \(listener.address), since there "
      + "is no admin token: give one (--admin-token-file), \(other), or say --insecure-admin"
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
