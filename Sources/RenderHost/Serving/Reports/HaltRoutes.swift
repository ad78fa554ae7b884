import Hummingbird
import Logging
import ServerKit

/// The admin's routes that halt the release that is served, and lift the halt.
struct HaltRoutes: Sendable {
  /// Returns the release's name; `nil` without bundles.
  let setHalted: (@Sendable (Bool) async throws -> String)?

  func add(to router: RouterGroup<HostRequestContext>) {
    for (path, isHalted) in [("release/halt", true), ("release/resume", false)] as [(RouterPath, Bool)] {
      router.post(path) { [setHalted] _, context in
        guard let setHalted else {
          throw ServedError.notFound("this host has no releases: it is started with --bundles or --manifest")
        }
        let release = try await setHalted(isHalted)
        context.requestLogger.notice(
          isHalted ? "A release was halted by hand" : "The halt of a release was lifted by hand",
          metadata: ["release": "\(release)"])
        return JSONAnswer.json(["release": release])
      }
    }
  }
}
