import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging

extension ResourceLoader {
  /// The settings of a loader.
  public struct Configuration: Sendable {
    /// The first that matches a URL counts; what none matches is loaded by `behavior`.
    public var rules: [ResourceRule] = []
    /// Loads what no rule and no type has a behaviour for.
    public var behavior: LoadBehavior = .automatic
    /// The same for types of resources. Where nothing is said of pictures and `behavior` is ``LoadBehavior/automatic``,
    /// they are loaded by ``LoadBehavior/picture``.
    public var behaviors: [ResourceType: LoadBehavior] = [:]
    /// Query parameters that do not count where responses are looked up; they are sent all the same.
    public var ignoredParameters = PageURL.ignoredParameters
    /// Change references before they are resolved, in this order.
    public var rewriters: [any URLRewriting] = [SchemeRelativeRewriter()]
    /// The folder that `local://` URLs lead to; `nil` if they lead nowhere.
    public var localFolder: String?
    /// The partition of requests that do not name one, until ``ResourceLoader/use(_:cookies:)`` changes it.
    public var partition: CachePartition = .private
    /// Sent to one origin only.
    package var originFields: OriginFields?
    /// Sent where a request has no `User-Agent` of its own.
    public var userAgent = "PageKit"
    /// Requests go out with their own fields alone: for callers that pass on the requests of others.
    package var addsNothing = false
    /// The times that a transfer may take.
    public var limits: TransferLimits = .standard
    /// Wire bytes of one answer.
    public var bodyLimit: Int64 = 256 << 20
    /// Transfers at once, from the request to the end of the answer's body.
    public var transfers = 64
    /// Requests that may wait for one of those; more get ``LoadError/busy(_:limit:)``.
    public var waiting = Int.max
    /// The longest wait for the response to an equal request that was sent before; then the request is sent itself.
    /// `nil` for as long as that takes. The time in which neither could be sent does not count.
    package var sharingPatience: Duration?
    /// The longest wait of a request for a response that is complete to be stored: an app may take its time to decide
    /// about it.
    package var storingPatience: Duration = .seconds(1)
    /// Asked before every request that would go to the network, redirects too; throws what the caller is to get.
    public var permission: @Sendable (PageURL) throws -> Void = { _ in }
    /// Takes decisions, at the level of debugging, and warnings.
    public var logger = Logger(label: "pagekit.resources")
    /// Which stored responses may be used at a time.
    package var storedUse: @Sendable (HTTPDate) -> StoredUse = { _ in .unlimited }
    /// The clock.
    package var now: @Sendable () -> HTTPDate = { HTTPDate.now }

    /// The defaults.
    public init() {}

    func behavior(of type: ResourceType) -> LoadBehavior {
      behaviors[type] ?? (type == .image && behavior == .automatic ? .picture : behavior)
    }
  }
}

/// How an app wants some of its resources to be loaded: the first rule that matches counts.
///
///     configuration.resources.rules = [
///       ResourceRule(.prefix("https://cdn.example.com/"), types: [.image], behavior: .cacheFirst),
///       ResourceRule(.glob("/prices/*"), lifetime: .atMost(30)),
///     ]
public struct ResourceRule: Sendable {
  /// The URLs it is for.
  public let pattern: URLPattern
  /// `nil` for all.
  public let types: Set<ResourceType>?
  /// How they are loaded; `nil` for the default.
  public var behavior: LoadBehavior?
  /// How long their responses are fresh.
  public var lifetime: LifetimeRule
  /// `true` lets a shared partition store responses with their `Set-Cookie`, so that one client's cookie reaches all;
  /// `false` leaves that to the cache's policy.
  package var sharesCookies = false
  /// Makes responses to POST storable: the text that it makes of a request's body becomes part of the key. It returns
  /// `nil` for a request whose response is not to be stored.
  public var postKey: (@Sendable ([UInt8]) -> String?)?

  /// Makes a rule. Each parameter is the property of the same name.
  ///
  /// - Parameters:
  ///   - behavior: `nil` for the default.
  ///   - lifetime: the time for which responses are fresh.
  public init(
    _ pattern: URLPattern = .any, types: Set<ResourceType>? = nil, behavior: LoadBehavior? = nil,
    lifetime: LifetimeRule = .server, postKey: (@Sendable ([UInt8]) -> String?)? = nil
  ) {
    self.pattern = pattern
    self.types = types
    self.behavior = behavior
    self.lifetime = lifetime
    self.postKey = postKey
  }

  func matches(_ url: PageURL, _ type: ResourceType) -> Bool {
    (types?.contains(type) ?? true) && pattern.matches(url)
  }
}

/// Changes the references that pages write into URLs that can be loaded. Rewriters are asked in order, each gets what
/// the one before made.
public protocol URLRewriting: Sendable {
  /// The reference, changed or as it was.
  func rewrite(_ reference: String, for request: ResourceRequest) -> String
}

/// Gives `//host/…` the scheme of the page, or `https`.
package struct SchemeRelativeRewriter: URLRewriting {
  package init() {}

  package func rewrite(_ reference: String, for request: ResourceRequest) -> String {
    guard reference.hasPrefix("//") else { return reference }
    let isPlain = request.base?.text.hasPrefix("http:") ?? false
    return (isPlain ? "http:" : "https:") + reference
  }
}

/// Finds `local:///path` in a folder that comes with the app.
package struct LocalFileRewriter: URLRewriting {
  private let folder: String

  /// - Parameter folder: an absolute path; nothing outside of it can be reached.
  package init(folder: String) { self.folder = URL(fileURLWithPath: folder).standardizedFileURL.path }

  package func rewrite(_ reference: String, for request: ResourceRequest) -> String {
    guard reference.lowercased().hasPrefix("local://") else { return reference }
    let path = reference.dropFirst("local://".count).prefix { $0 != "?" && $0 != "#" }
    let decoded = path.removingPercentEncoding ?? String(path)
    let file = URL(fileURLWithPath: folder).appendingPathComponent(decoded).standardizedFileURL
      .resolvingSymlinksInPath()
    let root = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
    guard file.path.hasPrefix(root + "/") else { return reference }
    return file.absoluteString
  }
}

/// Resolves relative references against the page's URL.
struct BaseRewriter: URLRewriting {
  func rewrite(_ reference: String, for request: ResourceRequest) -> String {
    guard let base = request.base?.url, let url = URL(string: reference, relativeTo: base) else { return reference }
    return url.absoluteString
  }
}
