import Bundles
import HTTPTypes
import Hummingbird
import Logging
import ServerKit

/// The route to which installs report if a release is good or bad on them.
struct ReportRoutes: Sendable {
  let desk: ReportDesk

  func add(to router: some RouterMethods<HostRequestContext>) {
    router.post("/reports") { [desk] request, context in
      let body = try await request.bytes(upTo: ReleaseReport.byteLimit)
      let isCounted = try await desk.take(body, authorization: request.headers[.authorization], from: context.client)
      return JSONAnswer.json(["counted": isCounted], status: .accepted)
    }
  }
}

/// The admin's routes that halt the release that is served, and lift the halt.
struct HaltRoutes: Sendable {
  /// Returns the reason why it cannot be done; `nil` if it is done. `nil` without bundles.
  let setHalted: (@Sendable (Bool) async throws -> String?)?

  func add(to router: RouterGroup<HostRequestContext>) {
    for (path, isHalted) in [("release/halt", true), ("release/resume", false)] as [(RouterPath, Bool)] {
      router.post(path) { [setHalted] _, context in
        guard let setHalted else {
          throw ServedError.notFound("this host has no releases: it is started with --bundles or --manifest")
        }
        if let reason = try await setHalted(isHalted) { throw ServedError(status: .conflict, reason: reason) }
        context.logger.notice(isHalted ? "The release was halted" : "The release goes on")
        return JSONAnswer.json(["done": true])
      }
    }
  }
}
