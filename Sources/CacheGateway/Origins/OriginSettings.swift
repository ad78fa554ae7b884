import HTTPCache
import HTTPCaching
import HTTPTransport
import HTTPTypes

/// The settings of one origin of the gateway.
package struct OriginSettings: Sendable {
  /// The name in metrics, and of the folder in the store: letters, digits and `-`.
  package var name: String
  package var url: PageURL
  /// Further servers that answer alike. Requests go to all of them in turn.
  package var others: [PageURL] = []
  /// Hosts that clients ask for, in small letters: `api.example.com`, or `*.example.com` for all below it. Empty for
  /// any.
  package var hosts: [String] = []
  /// Beginnings of paths, by whole segments. Empty for any.
  package var prefixes: [String] = []

  /// Requests to it at once; more wait.
  package var connections = 128
  /// Requests that wait for one of those; more get 503.
  package var waiting = 1000
  /// The time limit of name resolution, connection and TLS.
  package var connectTime: Duration = .seconds(5)
  /// The time limit of silence.
  package var idleTime: Duration = .seconds(60)
  /// Bytes of an answer's body.
  package var answerLimit: Int64 = 1 << 30
  /// Bytes of answers kept in memory and on disk.
  package var memory = 64 << 20
  package var disk: Int64 = 4 << 30
  /// PEM, in the place of the system's authorities.
  package var certificateAuthorities: String?
  package var patience = Reachability.Patience()
  /// A path that each server is asked for from time to time; `nil` for no checks.
  package var healthPath: String?
  /// From the end of one check to the beginning of the next.
  package var healthInterval: Duration = .seconds(10)

  /// The fields that tell it of the client.
  package var forwarding: Forwarding = .xForwarded
  /// Bytes up to which an answer without validators gets an `ETag` of its content; 0 for none.
  package var tagLimit = 0
  /// Content codings that it uses: of `Accept-Encoding` no others go on, so that clients that differ in others share what
  /// is stored. `nil` for all.
  package var codings: [String]?
  /// Targeted fields that are meant for the gateway, the most specific first. RFC 9213 §2.2.
  package var targets: [HTTPField.Name] = [HTTPField.Name.cdnCacheControl].compactMap(\.self)
  /// The behaviour of requests that no rule matches.
  package var behavior: LoadBehavior = .protocolCache
  package var rules: [ResourceRule] = []

  /// The fields that name the client, the host and the protocol.
  package enum Forwarding: String, CaseIterable, Sendable {
    case none
    /// `X-Forwarded-For`, `-Proto`, `-Host`.
    case xForwarded = "x-forwarded"
    /// `Forwarded`, RFC 7239.
    case forwarded
    case both
  }

  var servers: [PageURL] { [url] + others }

  package init(name: String = "origin", url: PageURL) {
    self.name = name
    self.url = url
  }
}
