import CoreMetrics
import HTTPTypes
import Synchronization

/// Counts and times requests by the template of their route. A path would be the client's choice.
final class RequestMetrics: Sendable {
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

  init(_ metrics: HostMetrics, route: String? = nil) {
    self.metrics = metrics
    self.route = route
  }

  /// Returns a function that counts and times a request, which began at a given time and ends now.
  ///
  /// - Parameter path: the template of the route that the router has found.
  func measure(
    method: HTTPRequest.Method, route path: String? = nil, status: Int
  ) -> @Sendable (ContinuousClock.Instant) -> Void {
    let (counter, timer) = instruments(
      Key(method: Self.name(method), route: route ?? Self.route(path), status: status))
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
