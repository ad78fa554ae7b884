import Foundation
import HTTPCaching
import NIOCore
import Synchronization

/// What the requests of a connection have in common: the recorded responses that it may replay and its client's address;
/// and what those of each of its channels have in common. HTTP/1 has one channel, HTTP/2 one for each stream.
final class ConnectionContext: Sendable {
  /// That of the connection whose requests the task handles.
  @TaskLocal static var current: ConnectionContext?

  /// What the requests of one channel have in common.
  struct ChannelContext: Sendable {
    /// `nil` if responses are not recorded.
    var replay: ReplayContext?
    /// Never happens if the channel has no ``ClientDisconnectionHandler``.
    var disconnection = ClientDisconnection()
    /// A response was made after which the connection is closed.
    var hasLast = false
  }

  private struct State {
    var channels: [ObjectIdentifier: ChannelContext] = [:]
    var date = (second: 0, text: "")
  }

  let memory: RawResponseCache
  /// The address of the client.
  let address: String
  private let state = Mutex(State())

  init(memory: RawResponseCache, address: String) { (self.memory, self.address) = (memory, address) }

  /// Changes what the requests of a channel have in common; it is forgotten when the channel is closed.
  func change(_ channel: any Channel, _ body: (inout ChannelContext) -> Void) {
    let id = ObjectIdentifier(channel)
    let isNew = state.withLock { state in
      defer { body(&state.channels[id, default: ChannelContext()]) }
      return state.channels[id] == nil
    }
    if isNew { channel.closeFuture.whenComplete { _ in self.state.withLock { $0.channels[id] = nil } } }
  }

  func context(of channel: any Channel) -> ChannelContext {
    // A request may be handled after its channel was closed.
    state.withLock { $0.channels[ObjectIdentifier(channel)] } ?? ChannelContext(hasLast: !channel.isActive)
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
