import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Synchronization

/// The context of a request: its connection, its client and its log.
package struct HostRequestContext: RequestContext, RemoteAddressRequestContext {
  package var coreContext: CoreRequestContextStorage
  package let remoteAddress: SocketAddress?
  /// The channel of the connection, or of one stream of HTTP/2.
  package let channel: any Channel
  /// The HTTP version of the request; known on the gateway's listener.
  package let version: RequestVersion
  /// The fields for the access log; `nil` if the line has no further fields.
  package let note: AccessLogNote?
  /// The bytes that the client sends over a web socket through the gateway; `nil` for other requests.
  package let socketBytes: BytePipe?

  /// Takes the statements about replaying the response; `nil` on channels whose responses are not recorded.
  package let replay: ReplayContext?
  /// The disconnection of the client, which may have happened already.
  package let disconnection: ClientDisconnection
  /// The outcome of the request on the event loop of the connection; `nil` if it was not begun there.
  package let begun: (any AnyObject & Sendable)?
  /// When the event loop began it; `nil` if it did not.
  let started: ContinuousClock.Instant?
  /// The id of the request, in its log lines and its response; `nil` before there is one.
  var requestID: String?
  /// `true` if the connection is being closed after the response to an earlier request.
  let followsLast: Bool

  /// The address of the other side of the connection, or of the client that its proxy names in a PROXY header; `nil` if
  /// it is unknown.
  package let peer: String?
  /// The key by which clients take turns: all clients of one address share one.
  package var client: String

  /// Logs with the request's id. A logger that gets it formats all that it adds to its lines; so only a request that logs
  /// gives it one.
  package var requestLogger: Logger {
    var logger = logger
    if let requestID { logger[metadataKey: Self.idKey] = .string(requestID) }
    return logger
  }

  package init(source: ApplicationRequestContextSource) { self.init(source: source, version: .http11) }

  package init(
    source: ApplicationRequestContextSource, version: RequestVersion, socketBytes: BytePipe? = nil,
    note: AccessLogNote? = nil
  ) {
    (self.socketBytes, self.note) = (socketBytes, note)
    self.version = version
    coreContext = .init(source: source)
    channel = source.channel
    let connection = ConnectionContext.current
    let common = connection?.context(of: source.channel) ?? .init()
    (replay, disconnection, followsLast) = (common.replay, common.disconnection, common.hasLast)
    (begun, started) = (common.begun?.rest, common.begun?.started)
    if common.begun != nil { connection?.change(source.channel) { $0.begun = nil } }
    remoteAddress = source.channel.remoteAddress
    peer = connection?.address ?? remoteAddress?.ipAddress
    client = peer ?? ""
  }
}

/// The state that all requests of a connection share: the recorded responses, the client's address, and the state of
/// each of its channels. HTTP/1 has one channel, HTTP/2 one for each stream.
final class ConnectionContext: Sendable {
  /// The context of the connection whose requests the current task handles.
  @TaskLocal static var current: ConnectionContext?

  /// The state that all requests of a channel share.
  struct ChannelContext: Sendable {
    /// `nil` if responses are not recorded.
    var replay: ReplayContext?
    /// Never happens if the channel has no ``RequestPartsHandler``.
    var disconnection = ClientDisconnection()
    /// A response was made after which the connection is closed.
    var hasLast = false
    /// The work that the event loop has begun for the request that the connection's task gets next, and the time of its start.
    var begun: (rest: any AnyObject & Sendable, started: ContinuousClock.Instant)?
  }

  let memory: RecordedResponses
  /// The address of the client.
  var address: String { state.withLock(\.address) }
  private let state:
    Mutex<(address: String, channels: [ObjectIdentifier: ChannelContext], date: (second: Int, text: String))>

  /// - Parameter address: the address of the other side.
  init(memory: RecordedResponses, address: String) {
    self.memory = memory
    state = Mutex((address, [:], (0, "")))
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
    return RenewedValues(date: date, requestID: HostRequestContext.newID(), age: age)
  }
}

extension HostRequestContext {
  /// Records that the response to this request closes the connection: requests that have come meanwhile are not answered.
  func markLast() { ConnectionContext.current?.change(channel) { $0.hasLast = true } }

  /// The name of the id in log lines.
  static let idKey = "hb.request.id"

  /// Returns the client's own id, with which the response must not be replayed; `nil` if there is none.
  static func givenID(_ head: HTTPRequest, _ replay: ReplayContext?) -> String? {
    let given = valid(head.headerFields[.requestID])
    if given != nil { replay?.forbid() }
    return given
  }

  /// Returns 16 hexadecimal digits.
  static func newID() -> String { Hex.encode(UniqueNumber.next()) }

  /// Returns the id if it has at most 128 letters, digits, `-`, `_`, `.`, `:`; otherwise `nil`.
  static func valid(_ id: String?) -> String? {
    guard let id, !id.isEmpty, id.utf8.count <= 128 else { return nil }
    let isPlain = id.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x3A, 0x5F: true
      default: false
      }
    }
    return isPlain ? id : nil
  }
}

extension HTTPField.Name {
  static let requestID = HTTPField.Name("X-Request-Id") ?? .from
}
