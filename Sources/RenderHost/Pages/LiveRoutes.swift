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
    router.post("/pages/:id/live/pick") { request, context in
      try await pages.answer(context) { try await pick(request, try context.parameters.require("id")) }
    }
    router.post("/pages/:id/live/answer") { request, context in
      try await pages.answer(context) { try await answer(request, try context.parameters.require("id")) }
    }
    router.post("/pages/:id/live/events") { request, context in
      try await pages.answer(context) { try await fire(request, context, try context.parameters.require("id")) }
    }
  }

  /// Adds the stream of several pages' patches.
  func addStream(to router: some RouterMethods<HostRequestContext>) {
    router.get("/patches") { request, context in
      try await pages.answer(context) { try await patches(ofSeveral: request) }
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
  static func checkOrigin(_ request: Request) throws {
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
      page: shown.page.id, run: shown.run, view: shown.view, position: shown.position,
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
        page: shown.page.id, run: shown.run, view: shown.view, position: shown.position, request: shown.request,
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
      let purpose: PageDirectory.Purpose = PageDirectory.inputTypes.contains(input.type) ? .input : .entry
      let began = ContinuousClock.now
      do {
        let (page, _, newErrors) = try await directory.call(id, for: context.client, as: purpose, run: run) {
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

  /// The limit of pages whose patches one stream has.
  private static let pagesAtOnce = 16

  /// Sends the patches of several pages in one stream, for documents that show them in frames: a browser keeps few
  /// connections to a host. The data of each event are the page's id, the event's id, and its own data.
  private func patches(ofSeveral request: Request) async throws -> Response {
    let wanted = request.uri.queryParameters["of"].map { $0.split(separator: ",") } ?? []
    guard (1...Self.pagesAtOnce).contains(wanted.count) else {
      throw PageFailure.badRequest(
        "the parameter of names \(wanted.count) pages, as ID:EVENT,…: the limit is \(Self.pagesAtOnce)")
    }
    var (known, lost): ([(id: String, log: EventLog, viewer: LiveViewer)], [String]) = ([], [])
    var present: [EventLog.Event] = []
    for text in wanted {
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, let place = Int(parts[1]) else {
        throw PageFailure.badRequest(
          "\(String(text).quotedForMessage) is not a page's id and the id of an event, as ID:EVENT")
      }
      let id = String(parts[0])
      if let page = try? await directory.page(id) {
        known.append((id, page.live, LiveViewer(after: place)))
        present += self.present(page, at: place).map { $0.told(of: id) }
      } else {
        lost.append(id)
      }
    }
    let heartbeat = pages.heartbeat
    return PageRoutes.eventStream(of: known.map(\.log)) { [known, lost, present] writer in
      var readers = known
      if !present.isEmpty { try await writer.write(ByteBuffer(present)) }
      // Their viewers ask for the pages, and are told that there are none.
      for id in lost { try await writer.write(ByteBuffer([.again(0).told(of: id)])) }
      try await withThrowingTaskGroup(of: (Int, EventLog.Batch).self) { group in
        func read(_ index: Int) {
          group.addTask { [log = readers[index].log, place = readers[index].viewer.place] in
            (index, await log.next(after: place, within: heartbeat))
          }
        }
        for index in readers.indices { read(index) }
        while let (index, batch) = try await group.next() {
          let id = readers[index].id
          switch readers[index].viewer.take(batch) {
          case .send(let events): try await writer.write(ByteBuffer(events.map { $0.told(of: id) }))
          case .beat: try await writer.write(ByteBuffer(string: ":\n\n"))
          case .refetch(let place):
            try await writer.write(ByteBuffer([.again(place).told(of: id)]))
            continue
          case .end: continue
          }
          read(index)
        }
      }
    }
  }

  /// Takes the element that a viewer has chosen for developer tools.
  private func pick(_ request: Request, _ id: String) async throws -> Response {
    try Self.checkOrigin(request)
    let choice: PickedElement = try await pages.json(of: request, shape: "{\"ref\": …}")
    guard choice.ref.utf8.count <= PickedElement.refLimit else {
      throw PageFailure.badRequest(
        "the ref has \(choice.ref.utf8.count) bytes, and the limit is \(PickedElement.refLimit)")
    }
    try await directory.pick(choice, of: id)
    return Response(status: .noContent)
  }

  /// Takes the answer of a viewer to a question of the page's script.
  private func answer(_ request: Request, _ id: String) async throws -> Response {
    try Self.checkOrigin(request)
    let answer: ViewerAnswer = try await pages.json(of: request, shape: "{\"id\": …, \"button\": …, \"text\": …}")
    let page = try await directory.page(id)
    guard let questions = directory.numbers[page.number]?.questions else { throw PageFailure.unknownPage(id) }
    try questions.take(answer)
    return Response(status: .noContent)
  }

  /// The events that a viewer which begins to read may have missed: the overlay of developer tools, and questions that
  /// wait.
  ///
  /// - Parameter place: the id of the last event that the viewer has.
  private func present(_ page: OpenedPage, at place: Int) -> [EventLog.Event] {
    let overlay = page.overlays.map { EventLog.Event(id: place, name: LiveEvent.overlay, details: $0.json) }
    let questions = directory.numbers[page.number]?.questions.present ?? []
    return [overlay].compactMap(\.self)
      + questions.map { EventLog.Event(id: place, name: LiveEvent.question, details: $0) }
  }

  /// Sends the patches of a page as server-sent events: WHATWG HTML §9.2.
  private func patches(_ request: Request, _ id: String) async throws -> Response {
    let page = try await directory.page(id)
    let log = page.live
    let start = LiveViewer(after: PageRoutes.lastEvent(of: request))
    let heartbeat = pages.heartbeat
    return PageRoutes.eventStream(of: [log]) { writer in
      var viewer = start
      let present = present(page, at: viewer.place)
      if !present.isEmpty { try await writer.write(ByteBuffer(present)) }
      while !Task.isCancelled {
        switch viewer.take(await log.next(after: viewer.place, within: heartbeat)) {
        case .send(let events): try await writer.write(ByteBuffer(events))
        case .beat: try await writer.write(ByteBuffer(string: ":\n\n"))
        case .refetch(let place):
          return try await writer.write(ByteBuffer([.again(place)]))
        case .end: return
        }
      }
    }
  }
}

extension EventLog.Event {
  /// Has a viewer fetch the whole page.
  fileprivate static func again(_ place: Int) -> Self {
    Self(id: place, name: LiveEvent.again, details: JSONValue.object([:]).text)
  }

  /// The event in a stream of several pages.
  fileprivate func told(of page: String) -> Self {
    var told = JSONValue.object(["page": .string(page), "id": .integer(Int64(id))]).text.dropLast()
    // The details are JSON already.
    told += Array(",\"details\":".utf8) + details + [UInt8(ascii: "}")]
    return Self(id: id, name: name, details: Array(told))
  }
}
