import HTTPTypes
import Hummingbird
import LivePages
import NIOCore
import PageInspector
import PageKit
import PageWorkers
import ServerKit
import ServiceLifecycle
import Synchronization

/// `/json/list`, `/json/version`, and the web sockets `/devtools/page/ID` of browsers' developer tools.
///
/// These cannot send the admin's token: the list, which needs the token, has an address with a ticket for each page.
struct InspectorRoutes: Sendable {
  let directory: PageDirectory
  /// `true` if the listener uses TLS.
  let isSecure: Bool
  /// The routes that the list is one of; with those of administration it needs the token.
  var group = RouteGroup.admin
  /// The methods that are answered; `nil` for all. Tests find out with it what a new frontend needs.
  var methods: Set<String>?
  /// Signs the ids of pages.
  private let signature = WebhookSignature(secret: (0..<4).map { _ in "\(UInt64.random(in: .min ... .max))" }.joined())
  private let sockets = SocketCount()

  /// The largest number of web sockets that are open at once.
  static let socketLimit = 64
  /// The time without events after which a browser is asked if it is still there.
  private static let silence: Duration = .seconds(30)

  init(directory: PageDirectory, isSecure: Bool, group: RouteGroup = .admin, methods: Set<String>? = nil) {
    (self.directory, self.isSecure, self.group, self.methods) = (directory, isSecure, group, methods)
  }

  func add(to routes: ListenerRoutes) {
    routes.add(group, granting: { showsTicket($0) }) { router in
      router.get("/json") { request, _ in await list(request) }
      router.get("/json/list") { request, _ in await list(request) }
      router.get("/json/version") { _, _ in
        Response.json(["Browser": "renderhost/\(HostVersion.current)", "Protocol-Version": "1.3"])
      }
      router.get("/devtools/page/:id") { request, context in
        do {
          return try await connect(request, context, try context.parameters.require("id"))
        } catch let failure as PageFailure {
          return failure.response
        }
      }
    }
  }

  // MARK: Targets

  private func list(_ request: Request) async -> Response {
    let host = PageRoutes.host(of: request) ?? "127.0.0.1"
    let pages = await directory.pages.values.sorted { $0.id < $1.id }
    return Response.json(text: JSONValue.array(pages.map { .object(target($0, host)) }).text)
  }

  private func target(_ page: OpenedPage, _ host: String) -> [String: JSONValue] {
    let (scheme, parameter) = isSecure ? ("wss", "wss") : ("ws", "ws")
    let place = "\(host)\(SiteRules.debuggedPath)\(page.id)?ticket=\(ticket(for: page.id))"
    return [
      "id": .string(page.id), "type": .string("page"), "title": .string(page.name ?? page.location),
      "url": .string(page.location), "description": .string(page.phase), "faviconUrl": .string(""),
      "webSocketDebuggerUrl": .string("\(scheme)://\(place)"),
      "devtoolsFrontendUrl": .string(
        "devtools://devtools/bundled/devtools_app.html?\(parameter)=\(place.percentEncoded { $0.isUnreserved || "/:".utf8.contains($0) })"
      ),
    ]
  }

  /// The ticket that opens a web socket to a page.
  private func ticket(for id: String) -> String { Hex.encode(signature.digest(of: Array(id.utf8)) ?? []) }

  private func showsTicket(_ request: Request) -> Bool {
    let path = request.uri.path
    guard path.hasPrefix(SiteRules.debuggedPath), let ticket = request.uri.queryParameters["ticket"] else {
      return false
    }
    let id = path.dropFirst(SiteRules.debuggedPath.count)
    return signature.verdict(on: Array(id.utf8), field: "sha256=\(ticket)") == .right
  }

  // MARK: Web sockets

  private func connect(_ request: Request, _ context: HostRequestContext, _ id: String) async throws -> Response {
    let log = try await directory.page(id, as: .glance).log
    guard let bytes = await BytePipe.ofSocket(for: request, on: context.channel) else {
      throw HTTPError(
        .upgradeRequired, headers: [.upgrade: "websocket"],
        message: "developer tools connect here with a web socket, by HTTP/1.1")
    }
    let fields = try WebSocketKey.answer(to: request)
    guard let place = sockets.enter(limit: Self.socketLimit) else {
      throw HTTPError(
        .serviceUnavailable, message: "\(Self.socketLimit) developer tools are attached to pages, which is the limit")
    }
    let client = context.client
    let body = ResponseBody { writer in
      defer { place.leave() }
      guard let bundle = await script(of: id), log.addWatcher(limit: Self.socketLimit) else {
        return try await writer.finish(nil)
      }
      defer { log.removeWatcher() }
      let requests = log.traffic.map { PageNews($0.log, after: $0.log.lastID) }
      _ = log.traffic?.log.addWatcher(limit: .max)
      defer { log.traffic?.log.removeWatcher() }
      let session = InspectorSession(
        id: Hex.encode(UInt64.random(in: .min ... .max)), script: bundle, methods: methods)
      let news = PageNews(log)
      let connection = InspectorConnection(
        read: { try await bytes.next() },
        news: [{ await news.next(within: Self.silence) { await script(of: id) } }]
          + (requests.map { requests in [{ await requests.next(within: .seconds(86_400)) { nil } }] } ?? []),
        answer: { await answer($0, of: id, for: client, session: session.id) })
      try await withGracefulShutdownHandler {
        try await connection.run(session) { try await writer.write($0) }
      } onGracefulShutdown: {
        log.end()
      }
      try await writer.finish(nil)
    }
    return Response(status: .switchingProtocols, headers: fields, body: body)
  }

  private func script(of id: String) async -> InspectedScript? {
    guard let page = try? await directory.page(id, as: .glance) else { return nil }
    return InspectedScript(String(decoding: page.target.bundle.bytes, as: UTF8.self), at: page.opening.bundleURL)
  }

  private func answer(
    _ question: InspectorQuestion, of id: String, for client: String, session: String
  ) async -> InspectorAnswer {
    do {
      switch question {
      case .page(let inspection):
        let purpose: PageDirectory.Purpose =
          switch inspection {
          case .tree, .box: .glance
          case .edit: .view
          case .evaluate, .call, .properties, .release: .entry
          }
        let (_, bytes, _) = try await directory.call(id, for: client, as: purpose) {
          .inspect(call: $0, page: $1, inspection)
        }
        if case .tree = inspection { return .tree(try await ElementTree.read(record: bytes)) }
        return .value(ScriptValue(try await JSONValue.decode(JSONValue.self, from: bytes)))
      case .source:
        let page = try await directory.page(id, as: .glance)
        return .text(String(decoding: page.target.bundle.bytes, as: UTF8.self))
      case .body(let request):
        guard let body = try await directory.page(id, as: .glance).log.traffic?.body(request) else {
          return .failed("the body is not there: it was evicted, is too long, or never came")
        }
        return .body(body)
      case .overlay(let overlay):
        await directory.show(overlay, by: session, on: id)
        return .done
      case .reload:
        _ = try await directory.reload(id, for: client)
        return .done
      }
    } catch {
      return .failed(error.sentence)
    }
  }
}

/// The number of open web sockets of one kind.
final class SocketCount: Sendable {
  /// A counted web socket, until it is left or released.
  final class Place: Sendable {
    private let count: SocketCount
    private let isOver = Mutex(false)

    fileprivate init(_ count: SocketCount) { self.count = count }

    deinit { leave() }

    func leave() {
      guard
        isOver.withLock({ isOver in
          defer { isOver = true }
          return !isOver
        })
      else { return }
      count.open.withLock { $0 -= 1 }
    }
  }

  private let open = Mutex(0)

  /// - Returns: `nil` if there are as many as may be.
  func enter(limit: Int) -> Place? {
    let isAdmitted = open.withLock { open in
      guard open < limit else { return false }
      open += 1
      return true
    }
    return isAdmitted ? Place(self) : nil
  }
}

/// Reads the events of a page for its developer tools.
private final class PageNews: Sendable {
  private let log: EventLog
  private let place: Mutex<Int>

  /// - Parameter start: the id of the event after which it reads.
  init(_ log: EventLog, after start: Int = 0) {
    self.log = log
    place = Mutex(start)
  }

  /// Returns the next events; empty if none come within the limit, and `nil` at the page's end.
  ///
  /// - Parameter script: the page's script of now.
  func next(within limit: Duration, _ script: () async -> InspectedScript?) async -> [InspectorNews]? {
    // Events that are nothing to developer tools are no silence, after some of which a connection counts as lost.
    while true {
      switch await log.next(after: place.withLock(\.self), within: limit) {
      case .ended: return nil
      case .silence: return []
      case .events(let events, let missed):
        let news = await news(of: events, missed, script)
        if !news.isEmpty { return news }
      }
    }
  }

  private func news(
    of events: [EventLog.Event], _ missed: Int, _ script: () async -> InspectedScript?
  ) async -> [InspectorNews] {
    let former = place.withLock { place in
      defer { place = events.last?.id ?? place }
      return place
    }
    // What was dropped before the first reading is no loss.
    var news: [InspectorNews] = missed > 0 && former > 0 ? [.missed(missed)] : []
    var changesElements = false
    for event in events {
      switch event.name {
      case "log":
        guard let line = try? JSONValue(reading: event.details).decoded(as: LoggedLine.self) else { continue }
        news.append(.log(level: line.level, text: line.text))
      case "exception":
        guard let exception = try? JSONValue(reading: event.details).decoded(as: ScriptException.self) else {
          continue
        }
        news.append(.exception(exception))
      case "exchange":
        guard let step = try? JSONValue(reading: event.details).decoded(as: InspectedExchange.self) else { continue }
        news.append(.exchange(step))
      case PickedElement.event:
        if let ref = (try? JSONValue(reading: event.details)).map({ ScriptValue($0) })?["ref"].string {
          news.append(.picked(ref))
        }
      case "reloaded", "reopened":
        if let script = await script() { news.append(.replaced(script)) }
      case "commands", "changed", "image", "source", "snapshot", "renamed", LiveEvent.embedded: changesElements = true
      default: break
      }
    }
    return news + (changesElements ? [.elements] : [])
  }

  private struct LoggedLine: Decodable {
    let level: String
    let text: String
  }
}
