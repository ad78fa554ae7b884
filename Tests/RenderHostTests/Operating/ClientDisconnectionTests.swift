import Foundation
import PageTesting
import Synchronization
import Testing

@testable import ServerKit

struct ClientDisconnectionTests {
  @Test("a handler of a cancelled task that takes long holds up neither the event loop nor others that ask")
  func slowHandler() async throws {
    let disconnection = ClientDisconnection()
    let proceed = DispatchSemaphore(value: 0)
    let hasBegun = Mutex(false)
    let events = Mutex<[String]>([])
    let client = Task {
      try await disconnection.cancelling {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        hasBegun.withLock { $0 = true }
        await withTaskCancellationHandler {
          for await _ in ends {}
        } onCancel: {
          end.finish()
          _ = proceed.wait(timeout: .now() + 30)
          events.withLock { $0.append("handled") }
        }
      }
      events.withLock { $0.append("ended") }
    }
    try await eventually("the body runs") { hasBegun.withLock(\.self) }
    // Its own thread, as that of an event loop; neither call may wait for the handler.
    let isFree = Mutex(false)
    Thread.detachNewThread {
      disconnection.happen()
      _ = disconnection.hasHappened
      isFree.withLock { $0 = true }
    }
    try await eventually("the event loop is free", within: .seconds(20)) { isFree.withLock(\.self) }
    #expect(events.withLock(\.self) == [], "the task ends after its handler")
    proceed.signal()
    try await client.value
    #expect(events.withLock(\.self) == ["handled", "ended"])
    await #expect(throws: CancellationError.self) { try await disconnection.cancelling {} }
  }
}
