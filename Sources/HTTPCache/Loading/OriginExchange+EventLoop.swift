import Containers
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Synchronization

/// Requests of event loops, which have no task: they begin an exchange of the table like those of tasks, and what it
/// brings is called out to them.
extension OriginExchange {
  /// An exchange that an event loop has begun. A class: its steps hand it on several times, and each copy would count
  /// twenty references.
  private final class Beginning: Sendable {
    let outgoing: OutgoingRequest
    let request: HTTPRequest
    let reason: ForwardReason
    let key: FlightKey
    let ticket: FlightTicket
    /// To wait by at the gate.
    let number: UInt64
    let generation: UInt64
    let sent: HTTPDate

    init(
      _ outgoing: OutgoingRequest, _ request: HTTPRequest, _ reason: ForwardReason, _ key: FlightKey,
      _ ticket: FlightTicket, number: UInt64, generation: UInt64, sent: HTTPDate
    ) {
      (self.outgoing, self.request, self.reason, self.key, self.ticket) = (outgoing, request, reason, key, ticket)
      (self.number, self.generation, self.sent) = (number, generation, sent)
    }
  }

  /// Asks the origin as ``resource(for:_:validating:_:)`` does, without a task, unless there is an exchange or a response
  /// that the request has to wait for.
  ///
  /// - Parameter calls: is called once, if the origin may be asked.
  /// - Returns: to be called when the client goes away before there is a response; `nil` if a task is needed, so that
  ///   nothing was done.
  func begin(
    _ outgoing: OutgoingRequest, _ request: HTTPRequest, _ reason: ForwardReason, on loop: @escaping EventLoopCall,
    _ calls: () -> BegunCalls
  ) -> (@Sendable () -> Void)? {
    guard outgoing.method == .get, outgoing.head.method == .get, outgoing.isStored, !outgoing.hasBody,
      outgoing.origin == nil, sender.mayBegin
    else { return nil }
    let names = varyNames(of: outgoing.key)
    let key = FlightKey(outgoing, request, epoch: inFlight.epoch(of: outgoing.key), chosenBy: names)
    guard let ticket = inFlight.begin(key, isShared: !passesOn(outgoing.key)) else { return nil }
    // Responses that were stored since the cache was looked at; whatever comes later joins this exchange.
    guard lookup.foundMeanwhile(outgoing, without: [], atOnce: true) == nil,
      names.isSuperset(of: varyNames(of: outgoing.key))
    else {
      inFlight.abandon(ticket, of: outgoing.key)
      return nil
    }
    var outgoing = outgoing
    let receive: @Sendable (BegunResponse) -> Void
    (outgoing.informational, receive) = calls()
    let beginning = Beginning(
      outgoing, request, reason, key, ticket, number: gate.number(), generation: inFlight.begin(outgoing.key),
      sent: configuration.now())
    inFlight.wait(key, by: beginning.number)
    let cancel = sender.begin(
      transportRequest(outgoing, request), to: outgoing.url, number: beginning.number, priority: outgoing.priority,
      on: loop
    ) { [self] in arrived($0, of: beginning) }
    guard let cancel else {
      endWait(of: beginning)
      inFlight.end(outgoing.key)
      inFlight.abandon(ticket, of: outgoing.key)
      return nil
    }
    inFlight.began(ticket) { [inFlight] in
      cancel()
      inFlight.end(ticket, of: key.key, .failure(CancellationError()))
    }
    inFlight.wait(for: ticket) { [self] result in
      let response = response(to: beginning, result)
      loop { receive(response) }
    }
    return { [inFlight] in inFlight.leave(ticket) }
  }

  private func endWait(of beginning: Beginning) {
    gate.forget(beginning.number)
    inFlight.endWait(beginning.key, by: beginning.number)
  }

  /// The origin has answered, or has not.
  private func arrived(_ result: Result<TransportResponse, any Error>, of beginning: Beginning) {
    endWait(of: beginning)
    let (outgoing, key, ticket) = (beginning.outgoing, beginning.key, beginning.ticket)
    let failure: any Error
    switch result {
    case .success(let response) where inFlight.isUnderWay(ticket):
      let times = ExchangeTimes(request: beginning.sent, response: configuration.now())
      return arrived((response, times, beginning.generation), of: beginning)
    // All who wanted it have gone.
    case .success: failure = CancellationError()
    case .failure(let full as TransferGate.Full): failure = LoadError.busy(outgoing.url, limit: full.limit)
    case .failure(let error): failure = error
    }
    inFlight.end(outgoing.key)
    // What was not sent is asked by tasks.
    inFlight.end(ticket, of: key.key, failure is OriginSender.NotBegun ? .success(.superseded) : .failure(failure))
  }

  private func arrived(_ brought: Brought, of beginning: Beginning) {
    let (outgoing, key, ticket) = (beginning.outgoing, beginning.key, beginning.ticket)
    if let storage = storageAtOnce(of: brought, to: beginning) {
      let result = stored(by: storage, brought, outgoing, key)
      if case .single = result { inFlight.end(outgoing.key) }
      return inFlight.end(ticket, of: key.key, .success(result))
    }
    let task = Task { [inFlight] in
      await inFlight.run(
        { try await self.result(of: outgoing, beginning.request, validating: nil, key, brought: brought) }, of: ticket,
        for: key.key)
    }
    // The last one may have left meanwhile.
    if !inFlight.began(ticket, cancel: { task.cancel() }) { task.cancel() }
  }

  /// Decides what is stored of a response that answers the request; `nil` if more has to be done or waited for.
  private func storageAtOnce(of brought: Brought, to beginning: Beginning) -> ResponseRecorder.Storage? {
    let (outgoing, request, head) = (beginning.outgoing, beginning.request, brought.response.head)
    guard brought.response.isForEventLoops, head.status != .notModified || request.isConditional,
      case .use = outgoing.policy.decision(
        on: head, to: request, for: outgoing.head, validating: nil, at: brought.times.response,
        lifetime: outgoing.lifetime)
    else { return nil }
    return recorder.storageAtOnce(of: head, outgoing, brought.times)
  }

  /// The outcome of the result for the first request.
  private func response(to beginning: Beginning, _ result: Result<FetchResult, any Error>) -> BegunResponse {
    let (outgoing, reason) = (beginning.outgoing, beginning.reason)
    switch result {
    case .success(.superseded): return .unfinished(nil)
    case .success(.incoming(let place)) where place.incoming.head.status.code < 500:
      defer { withExtendedLifetime(place) {} }
      guard let resource = resources.incoming(place.incoming, for: outgoing, reason, isCollapsed: false) else {
        return .unfinished(nil)
      }
      return .resource(resource)
    case .success(.single(let single)) where single.isForEventLoops:
      // Another request may have been faster.
      guard let response = single.take(for: outgoing.head, isOurs: true) else { return .unfinished(nil) }
      return .resource(
        resources.unshared(response, for: outgoing, reason, generation: single.generation, detail: single.detail))
    default: return .unfinished(BegunExchange(result, of: outgoing, beginning.request, reason, inFlight))
    }
  }
}

/// The functions of a request that was begun without a task: the first is called with its interim heads, from any thread,
/// the second once with its next step, on the event loop.
package typealias BegunCalls = (
  informational: (@Sendable (HTTPResponse) -> Void)?, receive: @Sendable (BegunResponse) -> Void
)

/// The next step of a request that was begun without a task.
package enum BegunResponse: Sendable {
  /// The origin's response.
  case resource(Resource)
  /// Only a task can do the rest: ``ResourceLoader/response(for:)`` goes on with the exchange, which is handed to it in
  /// ``ResourceRequest/begun``; `nil` if it has to ask.
  case unfinished(BegunExchange?)
}

/// An exchange that was begun without a task, with its result.
package final class BegunExchange: Sendable {
  private let key: CacheKey
  private let head: HTTPRequest
  /// The requests of the loader that has begun it.
  private let inFlight: InFlightRequests
  /// As it was sent.
  let request: HTTPRequest
  /// Why the cache did not answer.
  let reason: ForwardReason
  private let result: Mutex<Result<FetchResult, any Error>?>

  /// - Parameters:
  ///   - outgoing: the client's request.
  ///   - request: as the cache's rules made it.
  fileprivate init(
    _ result: Result<FetchResult, any Error>, of outgoing: OutgoingRequest, _ request: HTTPRequest,
    _ reason: ForwardReason, _ inFlight: InFlightRequests
  ) {
    (key, head, self.inFlight) = (outgoing.key, outgoing.head, inFlight)
    (self.request, self.reason) = (request, reason)
    self.result = Mutex(result)
  }

  /// Returns `true` if it is this request's exchange, and of the same loader, and its result was not taken.
  ///
  /// - Parameter inFlight: those of the loader that goes on with it.
  func isUsable(for outgoing: OutgoingRequest, in inFlight: InFlightRequests) -> Bool {
    outgoing.key == key && outgoing.head == head && outgoing.origin == nil && inFlight === self.inFlight
      && result.withLock { $0 != nil }
  }

  /// Takes the result, once; whoever does not use it lets go of it, with its place at the gate.
  func take() -> Result<FetchResult, any Error>? {
    result.withLock { result in
      defer { result = nil }
      return result
    }
  }
}
