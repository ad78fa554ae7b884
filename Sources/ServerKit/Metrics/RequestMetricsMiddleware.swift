import CoreMetrics
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// Counts and times requests by the template of their route. A path would be the client's choice.
package final class RequestMetricsMiddleware: RouterMiddleware {
  package typealias Context = HostRequestContext

  private struct Key: Hashable {
    let method: String
    let route: String
    let status: Int
  }

  private let metrics: HostMetrics
  /// The number of instruments is bounded by the routes, the known methods and the statuses.
  private let instruments = Mutex<[Key: (Counter, Timer)]>([:])

  /// The route for all requests; `nil` for the route that the router has found.
  private let route: String?

  package init(_ metrics: HostMetrics, route: String? = nil) {
    self.metrics = metrics
    self.route = route
  }

  package func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let start = ContinuousClock.now
    metrics.inFlight.increment()
    do {
      var response = try await next(request, context)
      let record = measure(
        method: request.method, route: route ?? Self.route(context.endpointPath), status: response.status.code)
      response.whenDone { [metrics] _, _ in
        metrics.inFlight.decrement()
        record(start)
      }
      context.replay?.onReplay { record($0.started) }
      return response
    } catch {
      metrics.inFlight.decrement()
      throw error
    }
  }

  /// Returns a function that counts and times a request, which began at a given time and ends now.
  func measure(
    method: HTTPRequest.Method, route: String? = nil, status: Int
  ) -> @Sendable (ContinuousClock.Instant) -> Void {
    let (counter, timer) = instruments(
      Key(method: Self.name(method), route: route ?? self.route ?? Self.route(nil), status: status))
    return { start in
      counter.increment()
      let time = start.duration(to: .now).components
      timer.recordNanoseconds(time.seconds * 1_000_000_000 + time.attoseconds / 1_000_000_000)
    }
  }

  private func instruments(_ key: Key) -> (Counter, Timer) {
    instruments.withLock { instruments in
      if let made = instruments[key] { return made }
      let made = (
        metrics.requests(method: key.method, route: key.route, status: key.status),
        metrics.duration(method: key.method, route: key.route)
      )
      instruments[key] = made
      return made
    }
  }

  /// Returns the template of a route. The router calls a missing one `NotFound`.
  private static func route(_ path: String?) -> String {
    guard let path, path != "NotFound" else { return "none" }
    return path
  }

  private static let knownMethods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete, .options]

  /// Returns the method's name if it is known, since clients may send any method.
  private static func name(_ method: HTTPRequest.Method) -> String {
    knownMethods.contains(method) ? method.rawValue : "other"
  }
}

extension Response {
  /// Calls `then` when the response has ended: at once if its length is known, so that it can be written in one piece;
  /// for a stream after its last byte, with the number of written bytes.
  mutating func whenDone(_ then: @escaping @Sendable (_ bytes: Int, _ isAborted: Bool) -> Void) {
    if let length = body.contentLength { return then(length, false) }
    let stream = body
    body = ResponseBody { writer in
      let counter = CountingWriter(base: writer)
      let bytes = counter.bytes
      do {
        try await stream.write(counter)
        then(Int(bytes.value), false)
      } catch {
        then(Int(bytes.value), true)
        throw error
      }
    }
  }
}

/// Counts the bytes that pass.
private struct CountingWriter: ResponseBodyWriter {
  var base: any ResponseBodyWriter
  let bytes = CounterSeries()

  mutating func write(_ buffer: ByteBuffer) async throws {
    try await base.write(buffer)
    bytes.increment(by: Int64(buffer.readableBytes))
  }

  consuming func finish(_ trailers: HTTPFields?) async throws { try await base.finish(trailers) }
}
