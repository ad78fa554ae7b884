import Bundles
import HTTPTypes
import Hummingbird
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
