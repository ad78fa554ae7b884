import Dispatch
import HTTPCaching
import HTTPTypes
import PageTesting
import Synchronization
import Testing

@testable import HTTPCache
@testable import HTTPTransport

/// The readers that keep the transfer of a shared response going, and its end without them.
struct IncomingResponseTests {
  /// A transfer that stands still after its first byte, until it is told to go on or is cancelled.
  private final class Transfer: Sendable {
    private let position = Mutex(0)
    private let more = Signal()
    private let cancelled = Atomic(false)

    var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    func proceed() { more.send() }

    var body: Body {
      Body(next: { [self] in
        let now = position.withLock { position in
          position += 1
          return position
        }
        if now == 1 { return [1] }
        guard now == 2 else { return nil }
        await more.wait(beyond: 0)
        if Task.isCancelled { cancelled.store(true, ordering: .releasing) }
        try Task.checkCancellation()
        return [2]
      })
    }
  }

  private static func begun(
    _ transfer: Transfer, _ fixture: ResourceFixture, in tasks: RunningTasks
  ) throws -> IncomingResponse.Place {
    let request = try fixture.outgoing(fixture.request("/a"))
    let times = ExchangeTimes(request: fixture.time.date, response: fixture.time.date)
    let pending = PendingResponse(request, status: 200, fields: [:], times: times, shape: .whole(size: nil))
    let place = IncomingResponse.opened(
      HTTPResponse(status: .ok), to: request.head, generation: 1, pending: pending, spool: try fixture.store.writer())
    place.incoming.start(transfer.body, in: tasks) { _, spool in
      spool.discard()
      return nil
    } landed: {
    }
    return place
  }

  @Test("whoever joins while the last reader leaves gets the whole body or none, and never a cut one")
  func joiningWhileTheLastLeaves() async throws {
    try await ResourceFixture.running { fixture in
      let tasks = RunningTasks()
      for _ in 0..<500 {
        let transfer = Transfer()
        let place = Mutex<IncomingResponse.Place?>(try Self.begun(transfer, fixture, in: tasks))
        let incoming = try #require(place.withLock { $0?.incoming })
        let joined = Mutex<Body?>(nil)
        DispatchQueue.concurrentPerform(iterations: 2) { number in
          if number == 0 {
            place.withLock { $0 = nil }
          } else {
            let body = incoming.body()
            joined.withLock { $0 = body }
          }
        }
        if let body = joined.withLock(\.self) {
          transfer.proceed()
          #expect(try await body.collect() == [1, 2])
        }
      }
      await tasks.finish()
    }
  }

  @Test("a response that was given to those who asked, and that none of them reads, is given up")
  func unreadResponse() async throws {
    try await ResourceFixture.running { fixture in
      let (tasks, transfer) = (RunningTasks(), Transfer())
      var results: [FetchResult] = [.incoming(try Self.begun(transfer, fixture, in: tasks))]
      let incoming = try #require(Self.incoming(of: results))
      #expect(!incoming.isFinished)
      results = []
      try await eventually("the transfer is given up") { transfer.isCancelled && incoming.isFinished }
      let isJoined = incoming.body() != nil
      #expect(!isJoined, "who comes later is not given a part")
      await tasks.finish()
    }
  }

  private static func incoming(of results: [FetchResult]) -> IncomingResponse? {
    if case .incoming(let place)? = results.first { place.incoming } else { nil }
  }

  @Test("a reader keeps the transfer going after those who were given the response have gone")
  func readerAlone() async throws {
    try await ResourceFixture.running { fixture in
      let (tasks, transfer) = (RunningTasks(), Transfer())
      var place: IncomingResponse.Place? = try Self.begun(transfer, fixture, in: tasks)
      let body = try #require(place?.incoming.body())
      place = nil
      transfer.proceed()
      #expect(try await body.collect() == [1, 2])
      await tasks.finish()
    }
  }

  @Test("a reader of an event loop that goes is told so at once, and nothing waits for it until the next bytes come")
  func goneReader() async throws {
    try await ResourceFixture.running { fixture in
      let (tasks, transfer) = (RunningTasks(), Transfer())
      let place = try Self.begun(transfer, fixture, in: tasks)
      let received = Mutex<[Result<[UInt8]?, any Error>]>([])
      @Sendable func read(_ body: Body?) {
        body?.callbacks?.next(on: { $0() }, { result in received.withLock { $0.append(result) } })
      }
      var body = place.incoming.body()
      read(body)
      try await eventually("the first byte comes") { received.withLock(\.count) == 1 }
      read(body)
      body = nil
      #expect(received.withLock(\.count) == 2)
      #expect(throws: CancellationError.self) { try received.withLock(\.last)?.get() }
      // Another one has the rest.
      let rest = try #require(place.incoming.body())
      transfer.proceed()
      #expect(try await rest.collect() == [1, 2])
      #expect(received.withLock(\.count) == 2)
      await tasks.finish()
    }
  }

  @Test("a transfer is given up with its last place, unless it is complete, and for good")
  func places() {
    var places = IncomingPlaces()
    let joined = places.enter()
    let steps = [places.leave(isComplete: false), places.leave(isComplete: false)]
    #expect(joined && steps == [false, true])
    let isLate = places.enter()
    #expect(!isLate && places.areClosed)
    var complete = IncomingPlaces()
    let isGivenUp = complete.leave(isComplete: true)
    let isOpen = complete.enter()
    #expect(!isGivenUp && isOpen)
  }
}
