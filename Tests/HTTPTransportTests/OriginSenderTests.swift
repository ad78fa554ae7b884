import HTTPTypes
import Synchronization
import TestSupport
import Testing

@testable import HTTPTransport

/// Requests without a task.
struct OriginSenderTests {
  /// Can begin no request by the time it is its turn.
  private struct BusyTransport: CallbackTransporting {
    var mayBegin = true
    /// The requests that were to begin.
    let asked = Recorder<String>()

    func send(_ request: TransportRequest) async throws -> TransportResponse {
      throw TransportError.shutDown(url: request.url)
    }

    func begin(
      _ request: TransportRequest, on loop: @escaping EventLoopCall,
      _ receive: @escaping @Sendable (Result<TransportResponse, any Error>) -> Void
    ) -> (@Sendable () -> Void)? {
      asked.append(request.head.path ?? "")
      return nil
    }
  }

  /// Gives each response to the event loop at once, and counts the requests that are cancelled.
  private final class PromptTransport: CallbackTransporting {
    let cancelled = Atomic(0)
    var mayBegin: Bool { true }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
      throw TransportError.shutDown(url: request.url)
    }

    func begin(
      _ request: TransportRequest, on loop: @escaping EventLoopCall,
      _ receive: @escaping @Sendable (Result<TransportResponse, any Error>) -> Void
    ) -> (@Sendable () -> Void)? {
      loop { receive(.success(TransportResponse(head: HTTPResponse(status: .ok), body: Body([65])))) }
      return { [self] in cancelled.add(1, ordering: .relaxed) }
    }
  }

  /// Calls functions when it is told to.
  private final class ManualLoop: Sendable {
    private let functions = Mutex<[@Sendable () -> Void]>([])

    func call(_ function: @escaping @Sendable () -> Void) { functions.withLock { $0.append(function) } }

    /// Calls what there is, and what that brings.
    func run() {
      while let next = functions.withLock({ $0.popLast() }) { next() }
    }
  }

  private func request(_ path: String = "/") -> TransportRequest {
    TransportRequest(HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: path))
  }

  private func outcome(_ result: Result<TransportResponse, any Error>) -> String {
    switch result {
    case .success: "a response"
    case .failure(let error): error is CancellationError ? "cancelled" : "\(error)"
    }
  }

  @Test("a request that only a task can send takes no place, and does not wait for one")
  func needsTask() throws {
    let url = try #require(PageURL("https://a.example/"))
    let gate = TransferGate(width: 1)
    let transport = BusyTransport(mayBegin: false)
    let sender = OriginSender(transport, reachability: Reachability(), gate: gate)
    let cancel = sender.begin(request(), to: url, on: { $0() }, { _ in Issue.record("it was begun") })
    #expect(cancel == nil && transport.asked.all.isEmpty)
    #expect(gate.counts.expected == 0 && gate.counts.waiting == 0)
  }

  @Test(
    "those who wait and turn out to need a task are told so in order, without a stack as deep as the queue is long",
    arguments: [true, false])
  func needTaskInTheirTurn(isLoopAtOnce: Bool) async throws {
    let url = try #require(PageURL("https://a.example/"))
    let (gate, transport, loop) = (TransferGate(width: 1), BusyTransport(), ManualLoop())
    let sender = OriginSender(transport, reachability: Reachability(), gate: gate)
    let told = Mutex<[Int]>([])
    let count = 100_000
    var pass: TransferGate.Pass? = try await gate.enter(gate.number(), priority: .normal)
    for number in 0..<count {
      let cancel = sender.begin(
        request("/\(number)"), to: url, on: { function in if isLoopAtOnce { function() } else { loop.call(function) } }
      ) { result in
        if case .failure(let error) = result, error is OriginSender.NotBegun { told.withLock { $0.append(number) } }
      }
      #expect(cancel != nil)
    }
    #expect(pass != nil && gate.counts.waiting == count)
    pass = nil
    // The first one keeps its place until the event loop has told it.
    if !isLoopAtOnce { #expect(gate.counts.waiting == count - 1 && transport.asked.all == ["/0"]) }
    loop.run()
    #expect(told.withLock { $0 } == Array(0..<count))
    #expect(gate.counts.waiting == 0 && gate.counts.expected == 0)
    _ = try await gate.enter(gate.number(), priority: .normal)
  }

  @Test("a request that is cancelled while its response is on its way to the event loop gets no response")
  func cancelledBeforeResponse() throws {
    let url = try #require(PageURL("https://a.example/"))
    let (gate, transport, loop) = (TransferGate(width: 1), PromptTransport(), ManualLoop())
    let sender = OriginSender(transport, reachability: Reachability(), gate: gate)
    let results = Recorder<String>()
    let cancel = sender.begin(request(), to: url, on: loop.call) { results.append(self.outcome($0)) }
    let leave = try #require(cancel)
    leave()
    loop.run()
    #expect(transport.cancelled.load(ordering: .relaxed) == 1)
    #expect(results.all == ["cancelled"])
    #expect(gate.counts.expected == 0)
  }

  @Test("a response that the event loop has is not cancelled any more", arguments: [true, false])
  func cancelledAfterResponse(isLoopAtOnce: Bool) throws {
    let url = try #require(PageURL("https://a.example/"))
    let (transport, loop) = (PromptTransport(), ManualLoop())
    let sender = OriginSender(transport, reachability: Reachability(), gate: TransferGate(width: 1))
    let results = Recorder<String>()
    let cancel = sender.begin(
      request(), to: url, on: { function in if isLoopAtOnce { function() } else { loop.call(function) } }
    ) { results.append(self.outcome($0)) }
    loop.run()
    let leave = try #require(cancel)
    leave()
    #expect(transport.cancelled.load(ordering: .relaxed) == 0)
    #expect(results.all == ["a response"])
  }
}
