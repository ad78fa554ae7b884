import HTTPCache
import HTTPCaching
import HTTPTransport
import HTTPTypes

/// The settings of one origin of the gateway.
package struct OriginSettings: Sendable {
  /// The name in metrics and of the folder in the store: lowercase letters, digits and `-`.
  package var name: String
  package var url: PageURL
  /// Further servers with the same content. Requests go to all servers in turn.
  package var others: [PageURL] = []
  /// The hosts that clients request, in lowercase: `api.example.com`, or `*.example.com` for all subdomains. Empty for
  /// any.
  package var hosts: [String] = []
  /// The path prefixes, by whole segments. Empty for any.
  package var prefixes: [String] = []

  /// The limit of concurrent requests to it; more wait.
  package var connections = 128
  /// The limit of waiting requests; more get 503.
  package var waiting = 1000
  /// The time limit of name resolution, connection and TLS.
  package var connectTime: Duration = .seconds(5)
  /// The longest time without a byte.
  package var idleTime: Duration = .seconds(60)
  /// The longest wait for the answer to an equal request of another client.
  package var shareTime: Duration = .seconds(10)
  /// The limit of a response's body in bytes.
  package var answerLimit: Int64 = 1 << 30
  /// The capacities of the stored responses in memory and on disk, in bytes.
  package var memory = 64 << 20
  package var disk: Int64 = 4 << 30
  /// The PEM file of certificate authorities that replace the system's.
  package var certificateAuthorities: String?
  package var patience = Reachability.Patience()
  /// The path that checks request from each server; `nil` for no checks.
  package var healthPath: String?
  /// The time from the end of a check to the start of the next.
  package var healthInterval: Duration = .seconds(10)

  /// The fields that describe the client to it.
  package var forwarding: Forwarding = .xForwarded
  /// Responses without validators up to this many bytes get an `ETag` of their content; 0 for none.
  package var tagLimit = 0
  /// The content codings that it uses. Others are removed from `Accept-Encoding`, so that clients that differ in them
  /// share stored responses. `nil` for all.
  package var codings: [String]?
  /// The targeted fields that apply to the gateway, the most specific first. RFC 9213 §2.2.
  package var targets: [HTTPField.Name] = [HTTPField.Name.cdnCacheControl].compactMap(\.self)
  /// The behaviour of requests that no rule matches.
  package var behavior: LoadBehavior = .protocolCache
  package var rules: [ResourceRule] = []
  /// The JSON text that it was read from; empty for an origin of `--origin`.
  package var text = ""

  /// The fields that name the client, the host and the protocol.
  package enum Forwarding: String, CaseIterable, Sendable {
    case none
    /// `X-Forwarded-For`, `-Proto`, `-Host`.
    case xForwarded = "x-forwarded"
    /// `Forwarded`, RFC 7239.
    case forwarded
    case both
  }

  /// Returns `true` if another origin was written in the same way.
  func isSame(as other: OriginSettings) -> Bool { (name, url, text) == (other.name, other.url, other.text) }

  var servers: [PageURL] { [url] + others }

  package init(name: String = "origin", url: PageURL) {
    self.name = name
    self.url = url
  }
}
