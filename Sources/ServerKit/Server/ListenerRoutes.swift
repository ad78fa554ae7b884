import Hummingbird

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
  package func add(_ group: RouteGroup, _ add: (RouterGroup<HostRequestContext>) -> Void) {
    guard carries(group) else { return }
    let routes = router.group()
    if !group.isOpen {
      routes.add(
        middleware: CallerMiddleware(
          rules: rules, group: group, authenticator: authenticator,
          // Administration always checks the token itself.
          asksToken: listener.asksToken && group != .admin, metrics: metrics))
    }
    add(routes)
  }
}
