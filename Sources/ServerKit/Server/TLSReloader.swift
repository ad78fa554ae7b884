import HummingbirdCore
import HummingbirdHTTP2
import NIOSSL
import Synchronization

/// Holds the certificate and reads it again on request. Open connections keep theirs.
package final class TLSReloader: Sendable {
  private struct State {
    var configuration: TLSConfiguration
    var channels: [Rebuilding] = []
  }

  private let files: TLSFiles
  private let state: Mutex<State>

  /// - Throws: ``TLSFilesError``.
  package init(_ files: TLSFiles) throws {
    self.files = files
    state = Mutex(State(configuration: try files.configuration()))
  }

  /// Reads the files for new connections. If they cannot be used, the former certificate stays.
  ///
  /// - Throws: ``TLSFilesError``.
  package func reload() throws {
    let configuration = try files.configuration()
    let channels = state.withLock { state in
      state.configuration = configuration
      return state.channels
    }
    for channel in channels { try channel.rebuild(configuration) }
  }

  /// Makes a set-up for TLS connections that uses the current certificate.
  package func channel(
    _ configuration: HTTP2ChannelConfiguration, _ responder: @escaping HTTPChannelHandler.Responder
  ) throws -> @Sendable () -> HTTP2UpgradeChannel {
    let channel = try Rebuilding(state.withLock(\.configuration), configuration, responder)
    state.withLock { $0.channels.append(channel) }
    return { channel.current }
  }

  private final class Rebuilding: Sendable {
    private let configuration: HTTP2ChannelConfiguration
    private let responder: HTTPChannelHandler.Responder
    private let channel: Mutex<HTTP2UpgradeChannel>

    var current: HTTP2UpgradeChannel { channel.withLock { $0 } }

    init(
      _ tls: TLSConfiguration, _ configuration: HTTP2ChannelConfiguration,
      _ responder: @escaping HTTPChannelHandler.Responder
    ) throws {
      (self.configuration, self.responder) = (configuration, responder)
      channel = Mutex(
        try HTTP2UpgradeChannel(tlsConfiguration: tls, configuration: configuration, responder: responder))
    }

    func rebuild(_ tls: TLSConfiguration) throws {
      let new = try HTTP2UpgradeChannel(tlsConfiguration: tls, configuration: configuration, responder: responder)
      channel.withLock { $0 = new }
    }
  }
}
