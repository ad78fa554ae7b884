import Foundation
import HTTPCaching
import NIOCore
import Synchronization

/// The state that all requests of a connection share: the recorded responses, the client's address, and the state of
/// each of its channels. HTTP/1 has one channel, HTTP/2 one for each stream.
final class ConnectionContext: Sendable {
  /// The context of the connection whose requests the current task handles.
  @TaskLocal static var current: ConnectionContext?

  /// The state that all requests of a channel share.
  struct ChannelContext: Sendable {
    /// `nil` if responses are not recorded.
    var replay: ReplayContext?
    /// Never happens if the channel has no ``ClientDisconnectionHandler``.
    var disconnection = ClientDisconnection()
    /// A response was made after which the connection is closed.
    var hasLast = false
  }

  private struct State {
    var address: String
    var channels: [ObjectIdentifier: ChannelContext] = [:]
    var date = (second: 0, text: "")
  }

  let memory: RawResponseCache
  /// The address of the client.
  var address: String { state.withLock(\.address) }
  private let state: Mutex<State>

  /// - Parameter address: the address of the other side.
  init(memory: RawResponseCache, address: String) {
    self.memory = memory
    state = Mutex(State(address: address))
  }

  /// The other side is a proxy, which has named its client.
  func forwards(for client: String) { state.withLock { $0.address = client } }

  /// Changes the state of a channel. It is forgotten when the channel is closed.
  func change(_ channel: any Channel, _ body: (inout ChannelContext) -> Void) {
    let id = ObjectIdentifier(channel)
    let isNew = state.withLock { state in
      defer { body(&state.channels[id, default: ChannelContext()]) }
      return state.channels[id] == nil
    }
    if isNew { channel.closeFuture.whenComplete { _ in self.state.withLock { $0.channels[id] = nil } } }
  }

  /// Returns the state of a channel. A channel that was closed has answered its last request.
  func context(of channel: any Channel) -> ChannelContext {
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
    return RenewedValues(date: date, requestID: RequestIDMiddleware.newID(), age: age)
  }
}
