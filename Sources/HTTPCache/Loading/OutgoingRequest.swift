import HTTPCaching
import HTTPTransport
import HTTPTypes

/// One request to one URL: a resource request is as many as it has redirects, plus one.
struct OutgoingRequest: Sendable {
  /// As it is sent.
  var url: PageURL
  var key: CacheKey
  /// As the cache's rules see it: a GET also where a rule makes a POST storable.
  var request: HTTPRequest
  /// As it is sent.
  var method: HTTPRequest.Method
  var body: [UInt8]
  var stream: RequestStream?
  var target: String?
  var host: String?
  var clientHost: String?
  var informational: (@Sendable (HTTPResponse) -> Void)?
  /// The client's own fields, without those that must not be sent to this origin.
  var fields: HTTPFields
  var behavior: LoadBehavior
  /// How stored responses are used and brought up to date.
  var policy: CachePolicy
  var lifetime: LifetimeRule
  var priority: LoadPriority
  var type: ResourceType
  var keepsContentEncoding: Bool
  /// The handler that answers instead of the server; `nil` for the server.
  var origin: HandlingOrigin?
  /// The response may be stored.
  var isStored = true
  /// Something was stored for its key when it was looked up.
  var isReplacing = false
  /// The files that the page sees.
  var snapshot: (any FileSnapshot)?

  var hasBody: Bool { !body.isEmpty || stream != nil }

  /// The rules by which its response is stored. In the shared partition the rules of shared caches apply, even in a
  /// private cache.
  var storagePolicy: CachePolicy {
    guard key.partition.isShared else { return policy }
    var shared = CachePolicy(mode: .shared, targets: policy.targets)
    shared.sharesCookies = policy.sharesCookies
    return shared
  }

  /// The request that goes over the wire, for one that the cache's rules made.
  func outgoing(_ request: HTTPRequest) -> HTTPRequest {
    var outgoing = request
    outgoing.method = method
    if let target { outgoing.path = target }
    return outgoing
  }
}
