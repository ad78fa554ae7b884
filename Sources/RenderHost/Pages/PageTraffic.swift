import DequeModule
import Foundation
import HTTPTypes
import LivePages
import PageInspector
import PageKit
import ServerKit
import Synchronization

/// The requests of a page, for its developer tools. Without these nothing is recorded.
final class PageTraffic: EventLogCompanion {
  /// The steps of requests, each an ``InspectedExchange``.
  let log = EventLog()
  private let bodies: RecordedBodies
  private let number = UniqueNumber.next()
  private let last = Atomic(0)

  init(_ bodies: RecordedBodies) { self.bodies = bodies }

  /// Records a request; `nil` if no developer tools look.
  func begin(_ request: ResourceRequest) -> Recording? {
    guard log.watchers > 0 else { return nil }
    let url = request.base?.resolving(request.reference)?.text ?? request.reference
    // A picture in its own URL is not requested.
    guard !url.lowercased().hasPrefix("data:") else { return nil }
    return Recording(of: self, request, url)
  }

  func end() { log.end() }

  /// The body of a request's response; `nil` if it is not there any more.
  func body(_ id: String) -> [UInt8]? { id.hasPrefix(prefix) ? bodies[id] : nil }

  private var prefix: String { Hex.encode(number) + "." }

  private func nextID() -> String { "\(prefix)\(last.add(1, ordering: .relaxed).newValue)" }

  /// A request that is under way. Each of several responses counts as a request of its own.
  final class Recording: Sendable {
    private struct State {
      var id: String
      var url: String
      var isFromCache = false
      var isAnswered = false
      var count = 0
      /// `nil` for a body that is too long.
      var body: [UInt8]? = []
    }

    private let traffic: PageTraffic
    private let request: ResourceRequest
    private let state: Mutex<State>

    fileprivate init(of traffic: PageTraffic, _ request: ResourceRequest, _ url: String) {
      (self.traffic, self.request) = (traffic, request)
      state = Mutex(State(id: traffic.nextID(), url: url))
      tellBegin()
    }

    /// Records the head of a response.
    func answered(_ resource: Resource, at url: String?) {
      let isNext = state.withLock { state in
        let isNext = state.isAnswered
        if isNext { state = State(id: traffic.nextID(), url: state.url) }
        return isNext
      }
      if isNext { tellBegin() }
      state.withLock { state in
        (state.isAnswered, state.isFromCache) = (true, [.memory, .disk, .release].contains(resource.source))
        if let url { state.url = url }
      }
      let type = resource.response.headerFields[.contentType].map { MediaType($0).name } ?? ""
      tell(.answered(status: resource.status, fields: Self.pairs(resource.response.headerFields), mediaType: type))
    }

    /// Records bytes of the body.
    func add(_ bytes: [UInt8]) {
      state.withLock { state in
        state.count += bytes.count
        if state.count > RecordedBodies.bodyLimit { state.body = nil } else { state.body?.append(contentsOf: bytes) }
      }
    }

    /// Records the end of the body.
    func ended() {
      let (id, count, body) = state.withLock { ($0.id, $0.count, $0.body) }
      if let body { traffic.bodies.add(body, for: id) }
      tell(.ended(bytes: count))
    }

    func failed(_ reason: String) { tell(.failed(reason)) }

    private func tellBegin() {
      tell(.began(method: request.method.rawValue, fields: Self.pairs(request.fields)))
    }

    private func tell(_ step: InspectedExchange.Step) {
      let exchange = state.withLock { state in
        InspectedExchange(
          id: state.id, url: state.url, type: request.type.rawValue, isFromCache: state.isFromCache,
          time: Date().timeIntervalSince1970 * 1_000, step)
      }
      guard let text = try? JSONEncoder().encode(exchange) else { return }
      traffic.log.append("exchange", Array(text))
    }

    private static func pairs(_ fields: HTTPFields) -> [[String]] { fields.map { [$0.name.rawName, $0.value] } }
  }
}

/// The bodies of responses that developer tools can still show, within bounds; the oldest go first.
final class RecordedBodies: Sendable {
  /// The limit of one body in bytes.
  static let bodyLimit = 10 << 20
  /// The limit of all bodies in bytes.
  static let limit = 64 << 20

  private struct State {
    var bodies: [String: [UInt8]] = [:]
    /// The ids, the oldest first.
    var order: Deque<String> = []
    var bytes = 0
  }

  private let state = Mutex(State())

  subscript(id: String) -> [UInt8]? { state.withLock { $0.bodies[id] } }

  func add(_ body: [UInt8], for id: String) {
    guard body.count <= Self.bodyLimit else { return }
    state.withLock { state in
      // An entry takes room, too.
      let size = body.count + 200
      state.bodies[id] = body
      state.order.append(id)
      state.bytes += size
      while state.bytes > Self.limit, let oldest = state.order.popFirst() {
        state.bytes -= (state.bodies.removeValue(forKey: oldest)?.count ?? 0) + 200
      }
    }
  }
}

extension EventLog {
  /// The requests of the page, for its developer tools; `nil` if these cannot attach.
  var traffic: PageTraffic? { companion as? PageTraffic }
}
