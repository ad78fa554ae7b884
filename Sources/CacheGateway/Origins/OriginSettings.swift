import HTTPCache
import HTTPTransport
import HTTPTypes
import PageKit

/// What the gateway is told of one origin.
public struct OriginSettings: Sendable {
  /// In metrics, and of its folder in the store: letters, digits, `-`.
  public var name: String
  public var url: PageURL
  /// Further servers that answer alike. Requests go to all of them in turn.
  public var others: [PageURL] = []
  /// Hosts that clients ask for, in small letters: `api.example.com`, or `*.example.com` for all below it. Empty for
  /// any.
  public var hosts: [String] = []
  /// Beginnings of paths, by whole segments. Empty for any.
  public var prefixes: [String] = []

  /// Requests to it at once; more wait.
  public var connections = 128
  /// Requests that wait for one of those; more get 503.
  public var waiting = 1000
  /// For its name, the connection and TLS.
  public var connectTime: Duration = .seconds(5)
  /// How long it may send nothing.
  public var idleTime: Duration = .seconds(60)
  /// Bytes of an answer's body.
  public var answerLimit: Int64 = 1 << 30
  /// Bytes of answers kept in memory and on disk.
  public var memory = 64 << 20
  public var disk: Int64 = 4 << 30
  /// PEM, in the place of the system's authorities.
  public var certificateAuthorities: String?
  public var patience = Reachability.Patience()
  /// A path that each server is asked for from time to time; `nil` for no checks.
  public var healthPath: String?
  /// From the end of one check to the beginning of the next.
  public var healthInterval: Duration = .seconds(10)

  /// What tells it of the client.
  public var forwarding: Forwarding = .xForwarded
  /// Bytes up to which an answer without validators gets an `ETag` of its content; 0 for none.
  public var tagLimit = 0
  /// Content codings that it uses: of `Accept-Encoding` no others go on, so that clients that differ in others share what
  /// is stored. `nil` for all.
  public var codings: [String]?
  /// Targeted fields that are meant for the gateway, the most specific first. RFC 9213 §2.2.
  public var targets: [HTTPField.Name] = [HTTPField.Name.cdnCacheControl].compactMap(\.self)
  /// How what no rule matches is loaded.
  public var behavior: LoadBehavior = .protocolCache
  public var rules: [ResourceRule] = []

  /// Which fields name the client and what it asked for.
  public enum Forwarding: String, CaseIterable, Sendable {
    case none
    /// `X-Forwarded-For`, `-Proto`, `-Host`.
    case xForwarded = "x-forwarded"
    /// `Forwarded`, RFC 7239.
    case forwarded
    case both
  }

  var servers: [PageURL] { [url] + others }

  public init(name: String = "origin", url: PageURL) {
    self.name = name
    self.url = url
  }
}
