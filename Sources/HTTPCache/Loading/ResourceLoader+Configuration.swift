import HTTPCaching
import HTTPTransport
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
