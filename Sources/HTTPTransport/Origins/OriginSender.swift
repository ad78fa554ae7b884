import HTTPTypes
import Synchronization

/// Sends requests to origins, for responses and for bundles: asks whether a request may go out, lets so many run at
/// once, and records which origins answer.
///
/// It follows no redirects and does not retry: callers do, with ``RedirectDecision`` and ``RetryPolicy``, since each
/// redirect and each try is a request of its own.
package final class OriginSender: Sendable {
  package let reachability: Reachability
  /// `nil` if callers bound their transfers themselves.
  package let gate: TransferGate?
  private let transport: any HTTPTransporting
  /// The transport, if it also serves event loops.
  private let callbacks: (any CallbackTransporting)?
  private let permission: @Sendable (PageURL) throws -> Void

  /// - Parameters:
  ///   - reachability: is told what becomes of requests.
  ///   - gate: bounds the transfers, from the request to the end of the response's body.
  ///   - permission: throws what the caller of a request to a URL is to get instead of a response.
  package init(
    _ transport: any HTTPTransporting, reachability: Reachability, gate: TransferGate? = nil,
    permission: @escaping @Sendable (PageURL) throws -> Void = { _ in }
  ) {
    (self.transport, self.reachability, self.gate, self.permission) = (transport, reachability, gate, permission)
    callbacks = transport as? any CallbackTransporting
  }

  /// Returns `true` if a request may go to the URL's origin now.
  ///
  /// - Parameter insists: `true` to send to an origin that counts as unreachable, unless the network is set to offline.
  /// - Throws: what the permission throws.
  package func admits(_ url: PageURL, insists: Bool = false) throws -> Bool {
    try permission(url)
    return insists ? reachability.setting != .offline : reachability.admits(url)
  }

  /// Sends one request as soon as the gate lets it. Its place is taken until its body has ended, or its last reader has
  /// gone.
  ///
  /// - Parameters:
  ///   - number: to wait by at the gate; `nil` for a new one.
  /// - Throws: ``TransferGate/Full``, ``TransportError``, `CancellationError`.
  package func send(
    _ request: TransportRequest, to url: PageURL, number: UInt64? = nil, priority: LoadPriority = .normal
  ) async throws -> TransportResponse {
    guard let gate else { return try await transmit(request, to: url) }
    let pass = try await gate.enter(number ?? gate.number(), priority: priority)
    let response = try await transmit(request, to: url)
    return TransportResponse(head: response.head, body: pass.occupied(by: response.body), version: response.version)
  }

  /// Returns `false` if ``begin(_:to:number:priority:on:_:)`` can send nothing to any origin now.
  package var mayBegin: Bool { gate != nil && callbacks?.mayBegin == true }

  /// Sends one request as ``send(_:to:number:priority:)`` does, for an event loop, if the origin may be asked.
  ///
  /// - Parameter receive: is called once, on the event loop: with ``NotBegun`` if only a task could send it when its turn
  ///   had come.
  /// - Returns: cancels the request until there is a response; `nil` if only a task can send it, so that nothing was
  ///   done.
  package func begin(
    _ request: TransportRequest, to url: PageURL, number: UInt64? = nil, priority: LoadPriority = .normal,
    on loop: @escaping EventLoopCall, _ receive: @escaping @Sendable (Result<TransportResponse, any Error>) -> Void
  ) -> (@Sendable () -> Void)? {
    // Whether an origin that has failed is tried again is decided when the request is sent by a task.
    guard let transport = callbacks, let gate, transport.mayBegin, request.stream == nil, !reachability.isAway(url),
      (try? admits(url)) == true
    else { return nil }
    let (number, cancellation) = (number ?? gate.number(), Cancellation())
    cancellation.set { gate.leaveQueue(number) }
    gate.enter(number, priority: priority) { [reachability] admission in
      let pass: TransferGate.Pass
      switch admission {
      case .success(let admitted): pass = admitted
      case .failure(let error): return loop { receive(.failure(error)) }
      }
      let cancel = transport.begin(request, on: loop) { result in
        let isWanted = cancellation.finish()
        switch result {
        case .success(let response):
          reachability.recordSuccess(url)
          // Its body may have been cut.
          guard isWanted else { return receive(.failure(CancellationError())) }
          receive(
            .success(
              TransportResponse(head: response.head, body: pass.occupied(by: response.body), version: response.version))
          )
        case .failure(let error):
          reachability.record(error, for: url)
          receive(.failure(error))
        }
      }
      if let cancel { return cancellation.set(cancel) }
      // With its place, which the next one has only afterwards.
      loop { withExtendedLifetime(pass) { receive(.failure(NotBegun())) } }
    }
    return { cancellation.cancel() }
  }

  /// The request was not sent: only a task can send it.
  package struct NotBegun: Error {}

  /// Cancels the present step of a request, until it has its response.
  private final class Cancellation: Sendable {
    private enum State {
      case underWay(cancel: (@Sendable () -> Void)?)
      case cancelled
      case finished
    }

    private let state = Mutex(State.underWay(cancel: nil))

    /// Another step has begun. It is cancelled at once if the request was cancelled before.
    func set(_ cancel: @escaping @Sendable () -> Void) {
      let isCancelled = state.withLock { state in
        switch state {
        case .underWay:
          state = .underWay(cancel: cancel)
          return false
        case .cancelled: return true
        case .finished: return false
        }
      }
      if isCancelled { cancel() }
    }

    func cancel() {
      let cancel: (@Sendable () -> Void)? = state.withLock { state in
        guard case .underWay(let cancel) = state else { return nil }
        state = .cancelled
        return cancel
      }
      cancel?()
    }

    /// The request has its response, or has failed: nothing is cancelled from now on.
    ///
    /// - Returns: `false` if it was cancelled before.
    func finish() -> Bool {
      state.withLock { state in
        if case .cancelled = state { return false }
        state = .finished
        return true
      }
    }
  }

  private func transmit(_ request: TransportRequest, to url: PageURL) async throws -> TransportResponse {
    do {
      let response = try await transport.send(request)
      reachability.recordSuccess(url)
      return response
    } catch {
      reachability.record(error, for: url)
      throw error
    }
  }
}

/// Header fields, such as credentials, that are sent to one origin only.
///
/// Logs and descriptions never contain their values.
package struct OriginFields: Sendable, CustomStringConvertible {
  package let origin: String
  private let fields: HTTPFields

  /// Makes fields for an origin.
  ///
  /// - Parameters:
  ///   - fields: the fields.
  ///   - url: any URL of the origin.
  package init(_ fields: HTTPFields, for url: PageURL) {
    origin = url.origin
    self.fields = fields
  }

  package func adding(to request: HTTPFields, for url: PageURL) -> HTTPFields {
    guard url.origin == origin else { return request }
    var request = request
    for field in fields { request[field.name] = nil }
    for field in fields { request.append(field) }
    return request
  }

  package var description: String { "\(fields.count) fields for \(origin)" }
}
