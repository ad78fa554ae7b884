import Hummingbird

/// The routes of one listener, to which others are added group by group.
///
/// Routes that a listener does not carry are not there: a request for one is answered as for any unknown route.
package struct ListenerRoutes {
  package let router: Router<HostRequestContext>
  package let listener: ListenerPlan.Listener
  package let rules: SiteRules
  /// `nil` if there is no token.
  let authenticator: AdminAuthenticator?
  package let metrics: HostMetrics

  package func carries(_ group: RouteGroup) -> Bool { listener.groups.contains(group) }

  /// Adds a group's routes, behind its access checks, if the listener carries the group.
  package func add(_ group: RouteGroup, _ add: (RouterGroup<HostRequestContext>) -> Void) {
    guard carries(group) else { return }
    let routes = router.group()
    if !group.isOpen {
      routes.add(
        middleware: CallerMiddleware(
          rules: rules, group: group, authenticator: authenticator,
          // Administration asks for it itself, wherever it is.
          asksToken: listener.asksToken && group != .admin, metrics: metrics))
    }
    add(routes)
  }
}
