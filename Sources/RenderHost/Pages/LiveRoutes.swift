import HTTPTypes
import Hummingbird
import LivePages
import NIOCore
import PageKit
import PageWorkers
import ServerKit
import ServiceLifecycle

/// `/live`: pages that run in workers and are used in browsers.
struct LiveRoutes: Sendable {
  let pages: PageRoutes
  /// The tickets that let browsers in.
  let sessions: BrowserSessions
  /// For pages that their author runs: called before one is opened, and returns what makes the document in the place of a
  /// page that cannot be opened; `nil` to answer with the failure as JSON.
  var opening: (@Sendable () -> @Sendable (PageFailure, PageRequest) async -> Response)?

  private var directory: PageDirectory { pages.directory }

  /// Adds the routes for browsers, which a cookie or a ticket opens.
  func add(to router: some RouterMethods<HostRequestContext>) {
    for path: RouterPath in ["/live", "/live/**"] {
      router.get(path) { request, context in
        try await pages.answer(context) { try await document(request, context) }
      }
    }
    router.post("/live") { request, context in try await pages.answer(context) { try await open(request, context) } }
    router.get("/pages/:id/live") { _, context in
      try await pages.answer(context) {
        let id = try context.parameters.require("id")
        return Self.response(try await directory.liveView(of: id, for: context.client))
      }
    }
    router.delete("/pages/:id/live") { request, context in
      try await pages.answer(context) {
        try Self.checkOrigin(request)
        try await directory.leave(try context.parameters.require("id"))
        return Response(status: .noContent)
      }
    }
    router.get("/pages/:id/live/patches") { request, context in
      try await pages.answer(context) { try await patches(request, try context.parameters.require("id")) }
    }
    router.get("/pages/:id/live/resource") { request, context in
      do {
        return try await pages.resource(request, of: try context.parameters.require("id"))
      } catch {
        return PageFailure(error, url: "").withoutPaths(directory.locations).response
      }
    }
    router.post("/pages/:id/live/events") { request, context in
      try await pages.answer(context) { try await fire(request, context, try context.parameters.require("id")) }
    }
  }

  /// Adds the route that makes tickets, which asks for the token.
  func addTickets(to router: some RouterMethods<HostRequestContext>) {
    router.post("/live/tickets") { request, context in
      try await pages.answer(context) {
        let wanted: PageRequest = try await pages.json(of: request, shape: "{\"name\" or \"url\": …}")
        try wanted.check()
        let ticket = "\(BrowserSessions.parameter)=\(try sessions.ticket(at: .now))"
        let path =
          wanted.name.map { "/live/\($0.percentEncoded)?\(ticket)" }
          ?? "/live?url=\((wanted.url ?? "").percentEncoded)&\(ticket)"
        return Response.json(
          ["url": .string(path), "seconds": .integer(BrowserSessions.ticketTime.components.seconds)], status: .created)
      }
    }
  }

  /// An event needs the origin of this host, also from callers that no browser is.
  private static func checkOrigin(_ request: Request) throws {
    guard SiteRules.hasOwnOrigin(request.head) else {
      let origin = request.headers[.origin].map { "\"\($0.prefix(100))\"" } ?? "missing"
      throw HTTPError(
        .forbidden, message: "the Origin is \(origin): only documents of this host send events to its pages")
    }
  }

  // MARK: Opening

  /// A document that shows a page: one of its own for each viewer, or the open page that the URL names.
  private func document(_ request: Request, _ context: HostRequestContext) async throws -> Response {
    let parameters = request.uri.queryParameters
    let shown: PageDirectory.LiveView
    if let id = parameters["page"] {
      shown = try await directory.liveView(of: String(id), for: context.client)
    } else {
      guard let path = request.uri.path.unescapedPath else { throw PageFailure.badRequest("the path is not UTF-8") }
      let name = path.dropFirst("/live/".count)
      let wanted = try PageRequest(
        url: parameters["url"].map(String.init), name: name.isEmpty ? nil : String(name),
        data: parameters["data"].map(String.init), device: parameters["device"].map(String.init))
      if opening != nil, SiteRules.isCrossSite(request.head), wanted.name == nil || wanted.data != nil {
        throw HTTPError(.forbidden, message: "a page of another site may not open this: it chooses what runs here")
      }
      let failed = opening?()
      do {
        shown = try await directory.openLive(wanted, for: context.client)
      } catch let failure as PageFailure {
        guard let failed else { throw failure }
        return await failed(failure, wanted)
      }
    }
    let document = try LiveDocument(
      page: shown.page.id, run: shown.page.number, view: shown.view, position: shown.position,
      request: shown.request, isShared: !shown.page.isViewers)
    var headers: HTTPFields = [
      .contentType: "text/html; charset=utf-8", .cacheControl: "no-store", .contentSecurityPolicy: document.policy,
      .xContentTypeOptions: "nosniff",
    ]
    headers[.referrerPolicy] = "no-referrer"
    return Response(
      status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: document.html)))
  }

  /// Opens a page that a document shows in the place of its own.
  private func open(_ request: Request, _ context: HostRequestContext) async throws -> Response {
    try Self.checkOrigin(request)
    let wanted: PageRequest = try await pages.json(of: request, shape: "{\"name\" or \"url\": …, \"data\": …}")
    try wanted.check()
    return Self.response(try await directory.openLive(wanted, for: context.client), status: .created)
  }

  private static func response(_ shown: PageDirectory.LiveView, status: HTTPResponse.Status = .ok) -> Response {
    Response.json(
      text: LiveDocument.json(
        page: shown.page.id, run: shown.page.number, view: shown.view, position: shown.position, request: shown.request,
        isShared: !shown.page.isViewers), status: status)
  }

  // MARK: An open page

  /// Fires the events of a viewer, one after the other. An error of the page's script is told to all viewers.
  private func fire(_ request: Request, _ context: HostRequestContext, _ id: String) async throws -> Response {
    try Self.checkOrigin(request)
    let bytes = try await request.bytes(upTo: min(LiveInput.byteLimit, pages.bodyLimit))
    let inputs: [LiveInput]
    let run: UInt64?
    do { (inputs, run) = try LiveInput.read(bytes) } catch { throw PageFailure.badRequest(error.sentence) }
    // An element may have gone before the viewer knew: the other events count.
    var refusal: PageFailure?
    for input in inputs {
      let firing = PageFiring(
        ref: input.ref, type: input.type, event: input.event, changes: input.changes,
        tellsPlace: directory.configuration.development?.keepsInputs)
      let began = ContinuousClock.now
      do {
        let (page, _, newErrors) = try await directory.call(id, for: context.client, as: .entry, run: run) {
          .fire(call: $0, page: $1, firing, PageWait(settle: 0, timers: 0), view: nil)
        }
        directory.record.entered("fire", seconds: (ContinuousClock.now - began).seconds)
        if let place = page.reply.place { await directory.keep(PageInput(place: place, firing: firing), of: id) }
        if newErrors > 0, let fault = page.reply.errors.last { directory.record.threw(fault, in: page.location) }
      } catch let failure as PageFailure {
        guard case .unknownElement = failure else { throw failure }
        refusal = refusal ?? failure
      }
    }
    if let refusal { throw refusal }
    return Response(status: .noContent)
  }

  /// Sends the patches of a page as server-sent events: WHATWG HTML §9.2.
  private func patches(_ request: Request, _ id: String) async throws -> Response {
    let log = try await directory.page(id).live
    let start = LiveViewer(after: PageRoutes.lastEvent(of: request))
    let heartbeat = pages.heartbeat
    return PageRoutes.eventStream(of: log) { writer in
      var viewer = start
      while !Task.isCancelled {
        switch viewer.take(await log.next(after: viewer.place, within: heartbeat)) {
        case .send(let events): try await writer.write(ByteBuffer(events))
        case .beat: try await writer.write(ByteBuffer(string: ":\n\n"))
        case .refetch(let place):
          let again = EventLog.Event(id: place, name: LiveEvent.again, details: JSONValue.object([:]).text)
          return try await writer.write(ByteBuffer([again]))
        case .end: return
        }
      }
    }
  }
}
