import Foundation
import HTTPTransport
import HTTPTypes
import Hummingbird
import LivePages
import NIOCore
import PageInspector
import ServerKit
import ServiceLifecycle

/// Has Weex Playground, and other apps that refresh as it does, load a bundle again when it has changed.
///
/// The app scans the URL of ``link(for:bundle:port:)``, shows the bundle that it names, and connects a web socket to the
/// same host, with the path `/`. The text message `refresh` has it load the bundle again.
///
/// It is a middleware, since the path may have a document too, for which other rules hold. The app can show no token.
package struct PlaygroundSocket: RouterMiddleware {
  package typealias Context = HostRequestContext

  /// The subprotocol that the app asks for.
  package static let subprotocol = "echo-protocol"
  /// The largest number of web sockets that are open at once.
  package static let socketLimit = 64
  /// The largest length in bytes of an app's message, of which none means anything.
  static let messageLimit = 4 << 10
  /// The number of times without a sign of an app after which it is gone.
  private static let silences = 3

  /// Has an event for each change.
  private let changes: EventLog
  /// The time after which an app that is told nothing is asked if it is still there.
  private let silence: Duration
  private let sockets = SocketCount()

  /// - Parameters:
  ///   - changes: has an event for each change of a bundle. An app that does not read is told once of several. A server
  ///     that shuts down ends it.
  ///   - silence: the time after which an app that is told nothing is asked if it is still there.
  package init(changes: EventLog, silence: Duration = .seconds(30)) {
    (self.changes, self.silence) = (changes, silence)
  }

  /// The URL that an app scans.
  ///
  /// - Parameters:
  ///   - page: the URL of this server that a browser opens in place of the app, without a fragment.
  ///   - bundle: the URL of the bundle.
  ///   - port: the port of the web socket, at the host of `page`.
  package static func link(for page: String, bundle: String, port: Int) -> String {
    // RFC 3986 §3.4 lets a query have these. Some apps take the value as it stands, and some all that follows its name.
    let value = bundle.percentEncoded { $0.isUnreserved || ":/?@".utf8.contains($0) }
    return "\(page)\(page.contains("?") ? "&" : "?")wsport=\(port)&_wx_tpl=\(value)"
  }

  /// Opens the web socket that a request asks for; other requests pass.
  ///
  /// - Throws: `HTTPError` if the socket is not for an app, or there are too many.
  package func handle(
    _ request: Request, context: HostRequestContext, next: (Request, HostRequestContext) async throws -> Response
  ) async throws -> Response {
    guard request.uri.path == "/", let bytes = await BytePipe.ofSocket(for: request, on: context.channel) else {
      return try await next(request, context)
    }
    let fields = try Self.agreement(on: request)
    guard let place = sockets.enter(limit: Self.socketLimit) else {
      throw HTTPError(.serviceUnavailable, message: "\(Self.socketLimit) apps wait for changes, which is the limit")
    }
    let start = changes.lastID
    let body = ResponseBody { writer in
      defer { place.leave() }
      try await withGracefulShutdownHandler {
        try await run(from: { try await bytes.next() }, after: start) { try await writer.write($0) }
      } onGracefulShutdown: {
        changes.end()
      }
      try await writer.finish(nil)
    }
    return Response(status: .switchingProtocols, headers: fields, body: body)
  }

  /// The fields of the response that opens the socket.
  private static func agreement(on request: Request) throws -> HTTPFields {
    guard let name = HTTPField.Name("Sec-WebSocket-Protocol") else { throw HTTPError(.internalServerError) }
    // The app for iOS sends the origin of the socket's URL, with a slash at its end.
    var head = request.head
    if let origin = head.headerFields[.origin] {
      head.headerFields[.origin] = origin.hasSuffix("/") ? String(origin.dropLast()) : origin
      guard SiteRules.hasOwnOrigin(head) else {
        throw HTTPError(.forbidden, message: "a page of \(origin.prefix(100)) may not ask for this")
      }
    }
    let offered = request.headers[values: name].flatMap { $0.split(separator: ",") }
    guard offered.contains(where: { $0.trimmingCharacters(in: .whitespaces) == subprotocol }) else {
      let found = offered.isEmpty ? "none" : "\"\(offered.joined(separator: ",").prefix(100))\""
      throw HTTPError(
        .badRequest, message: "the web socket's subprotocol must be \(subprotocol), and the request offers \(found)")
    }
    var fields = try WebSocketKey.answer(to: request)
    fields[name] = subprotocol
    return fields
  }

  private enum News: Sendable {
    case socket(SocketInput)
    case changes(EventLog.Batch)
  }

  /// Tells an app of changes until it or the server ends the socket.
  ///
  /// Each message waits until the app has room for it, and all others wait with it.
  ///
  /// - Parameters:
  ///   - bytes: returns the bytes that come over the socket next; `nil` at the end.
  ///   - start: the id of the last change of which the app need not be told.
  /// - Throws: the errors of writing.
  func run(
    from bytes: @escaping @Sendable () async throws -> ByteBuffer?, after start: Int,
    write: (ByteBuffer) async throws -> Void
  ) async throws {
    let news = Mailbox<News>(limit: 1)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        await SocketInput.read(limit: Self.messageLimit, from: bytes) { await news.put(.socket($0)) }
      }
      group.addTask { [changes, silence] in
        var place = start
        while !Task.isCancelled {
          let batch = await changes.next(after: place, within: silence)
          if case .events(let events, _) = batch { place = events.last?.id ?? place }
          await news.put(.changes(batch))
          if batch == .ended { return }
        }
      }
      defer { group.cancelAll() }
      var silences = 0
      while let item = await news.next() {
        switch item {
        case .socket(.message), .socket(.sign): silences = 0
        case .socket(.ping(let answer)):
          silences = 0
          try await write(answer)
        case .socket(.end(let last)):
          if let last { try await write(last) }
          return
        case .changes(.events): try await write(SocketFrames.text(Array("refresh".utf8)))
        case .changes(.silence):
          silences += 1
          guard silences <= Self.silences else { return }
          try await write(SocketFrames.ping)
        // RFC 6455 §7.4.1: going away.
        case .changes(.ended): return try await write(SocketFrames.close(1001))
        }
      }
    }
  }
}
