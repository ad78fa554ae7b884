import Foundation
import HTTPCaching
import NIOCore
import Synchronization

/// The recorded responses that a connection may replay, its client's address, and the replay context of each of its
/// channels: HTTP/1 has one channel, HTTP/2 one for each stream.
final class ConnectionReplays: Sendable {
  /// Those of the connection whose requests the task handles.
  @TaskLocal static var current: ConnectionReplays?

  private struct State {
    var contexts: [ObjectIdentifier: ReplayContext] = [:]
    var date = (second: 0, text: "")
  }

  let memory: RawResponseCache
  /// The address of the client.
  let address: String
  private let state = Mutex(State())

  init(memory: RawResponseCache, address: String) { (self.memory, self.address) = (memory, address) }

  /// Gives the requests of a channel a context until the channel is closed.
  func add(_ context: ReplayContext, of channel: any Channel) {
    let id = ObjectIdentifier(channel)
    state.withLock { $0.contexts[id] = context }
    channel.closeFuture.whenComplete { _ in self.state.withLock { $0.contexts[id] = nil } }
  }

  func context(of channel: any Channel) -> ReplayContext? {
    state.withLock { $0.contexts[ObjectIdentifier(channel)] }
  }

  /// The values for a replay now.
  func renewed(age: Int64) -> RenewedValues {
    let second = time(nil)
    let date = state.withLock { state in
      if second != state.date.second {
        state.date = (second, HTTPDate(secondsSinceEpoch: Int64(second)).description)
      }
      return state.date.text
    }
    return RenewedValues(date: date, requestID: RequestID.next(), age: age)
  }
}
