import Containers
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Synchronization

/// Makes the requests that are sent: from a page's reference its URL, from the rules how it is loaded, and all the
/// fields that go out.
final class RequestBuilder: Sendable {
  private struct State {
    var partition: CachePartition
    var cookies: [CachePartition: any CookieStoring] = [:]
  }

  private let configuration: ResourceLoader.Configuration
  private let cachePolicy: CachePolicy
  private let lifetime: LifetimeRule
  private let defaultCookies: (any CookieStoring)?
  private let rewriters: [any URLRewriting]
  private let urls = URLMemo()
  private let state: Mutex<State>

  init(
    _ configuration: ResourceLoader.Configuration, for cache: ResponseCache,
    cookies: (any CookieStoring)?
  ) {
    self.configuration = configuration
    (cachePolicy, lifetime) = (cache.policy, cache.lifetime)
    defaultCookies = cookies
    state = Mutex(State(partition: configuration.partition))
    let local = configuration.localFolder.map { [LocalFileRewriter(folder: $0) as any URLRewriting] } ?? []
    rewriters = configuration.rewriters + local + [BaseRewriter()]
  }

  // MARK: Partitions

  /// The partition of requests that do not name one.
  var partition: CachePartition { state.withLock(\.partition) }

  func use(_ partition: CachePartition, cookies: (any CookieStoring)?) {
    state.withLock { state in
      state.partition = partition
      if let cookies { state.cookies[partition] = cookies }
    }
  }

  func cookies(of partition: CachePartition) -> (any CookieStoring)? {
    state.withLock { $0.cookies[partition] } ?? defaultCookies
  }

  // MARK: Requests

  /// The key under which the response to a GET would be stored; `nil` if there is none.
  func key(forGetting request: ResourceRequest) -> CacheKey? {
    guard !request.reference.isDataURL, let known = entry(for: request), !known.url.isFile else { return nil }
    return CacheKey(known.identity, host: request.host, in: request.partition ?? partition)
  }

  /// The URL that a request's reference leads to; `nil` if it is none.
  private func entry(for request: ResourceRequest) -> URLMemo.Entry? {
    let text = rewriters.reduce(request.reference) { $1.rewrite($0, for: request) }
    return urls.entry(for: text, ignoring: configuration.ignoredParameters)
  }

  /// - Throws: ``LoadError/invalidReference(_:)``, ``DataURLError``.
  func prepare(_ request: ResourceRequest) throws -> PreparedRequest {
    if request.reference.isDataURL { return .inline(try DataURL(request.reference)) }
    guard let known = entry(for: request) else {
      throw LoadError.invalidReference(request.reference)
    }
    if known.url.isFile { return .file(known.url, request.snapshot) }
    var fields = request.fields
    var body = request.body
    if request.compressesBody, !body.isEmpty, fields[.contentEncoding] == nil, let packed = body.gzipped() {
      body = packed
      fields[.contentEncoding] = "gzip"
    }
    var outgoing = try built(known, request, method: request.method, fields: fields, body: body)
    // Where its response redirects to is a server's matter.
    outgoing.origin = request.origin
    (outgoing.stream, outgoing.target, outgoing.informational) = (request.stream, request.target, request.informational)
    (outgoing.host, outgoing.clientHost, outgoing.begun) = (request.host, request.clientHost, request.begun)
    return .network(outgoing, request)
  }

  /// The request to where a redirect leads. RFC 9110 §15.4.
  func redirected(_ outgoing: OutgoingRequest, to target: PageURL, status: Int, _ request: ResourceRequest)
    -> OutgoingRequest
  {
    var fields = outgoing.fields
    if target.origin != outgoing.url.origin {
      // What identifies the user is for the origin it was meant for.
      for name in [HTTPField.Name.authorization, .cookie, .proxyAuthorization] { fields[name] = nil }
    }
    let becomesGet =
      status == 303 && outgoing.method != .head || [301, 302].contains(status) && outgoing.method == .post
    if becomesGet {
      for name in [HTTPField.Name.contentType, .contentLength, .contentEncoding] { fields[name] = nil }
    }
    let next = try? built(
      URLMemo.Entry(target, ignoring: configuration.ignoredParameters), request,
      method: becomesGet ? .get : outgoing.method, fields: fields, body: becomesGet ? [] : outgoing.body)
    return next ?? outgoing
  }

  /// The key of a URL that a request's response names.
  func key(of url: PageURL, namedBy request: OutgoingRequest) -> CacheKey {
    let identity = URLMemo.Entry(url, ignoring: configuration.ignoredParameters).identity
    return CacheKey(identity, host: request.host, in: request.key.partition)
  }

  private func built(
    _ known: URLMemo.Entry, _ request: ResourceRequest, method: HTTPRequest.Method, fields: HTTPFields, body: [UInt8]
  ) throws -> OutgoingRequest {
    let (url, identity) = (known.url, known.identity)
    let rule = configuration.rules.first { $0.matches(identity, request.type) }
    let partition = request.partition ?? self.partition
    // The content counts, not its encoding.
    let postKey = method == .post ? rule?.postKey?(request.body) : nil
    guard
      let head = HTTPRequest(
        method: postKey == nil ? method : .get, url: url, fields: completed(fields, url, in: partition))
    else {
      throw LoadError.invalidReference(url.text)
    }
    var policy = cachePolicy
    if rule?.sharesCookies == true { policy.sharesCookies = true }
    let lifetime = rule.map(\.lifetime) ?? .server
    return OutgoingRequest(
      url: url,
      key: postKey.map { CacheKey(identity, body: $0, in: partition) }
        ?? CacheKey(identity, host: request.host, in: partition),
      head: head, method: method, body: body, fields: fields,
      behavior: request.behavior ?? rule?.behavior ?? configuration.behavior(of: request.type), policy: policy,
      lifetime: lifetime == .server ? self.lifetime : lifetime, priority: request.priority, type: request.type,
      keepsContentEncoding: request.keepsContentEncoding, isStored: request.isStored, snapshot: request.snapshot)
  }

  /// Adds every field that libcurl would add by itself: `Vary` must see what is sent.
  private func completed(_ fields: HTTPFields, _ url: PageURL, in partition: CachePartition) -> HTTPFields {
    var fields = configuration.originFields?.adding(to: fields, for: url) ?? fields
    if configuration.addsNothing { return fields }
    if !fields.contains(.accept) { fields[.accept] = "*/*" }
    if !fields.contains(.userAgent) { fields[.userAgent] = configuration.userAgent }
    if !fields.contains(.acceptEncoding) {
      // RFC 9110 §14.2: a range is one of the encoded bytes, and a piece of those is of no use.
      fields[.acceptEncoding] = fields.contains(.range) ? "identity" : ContentDecoder.acceptEncoding
    }
    if !fields.contains(.cookie), let cookie = cookies(of: partition)?.cookieHeader(for: url) {
      fields[.cookie] = cookie
    }
    return fields
  }
}

/// A request as it was prepared.
enum PreparedRequest: Sendable {
  /// The first request that goes out, and the page's, which redirects are made from.
  case network(OutgoingRequest, ResourceRequest)
  case inline(DataURL)
  case file(PageURL, (any FileSnapshot)?)
  /// A handler answers, and its answer cannot be stored.
  case handled(ResourceOrigin)

  /// The request that goes to a server, if it is one.
  var outgoing: OutgoingRequest? { if case .network(let request, _) = self { request } else { nil } }
}

/// One request to one URL: a resource request is as many as it has redirects, plus one.
struct OutgoingRequest: Sendable {
  /// As it is sent.
  var url: PageURL
  var key: CacheKey
  /// As the cache's rules see it: a GET also where a rule makes a POST storable.
  var head: HTTPRequest
  /// As it is sent.
  var method: HTTPRequest.Method
  var body: [UInt8]
  var stream: RequestStream?
  var target: String?
  var host: String?
  var clientHost: String?
  var informational: (@Sendable (HTTPResponse) -> Void)?
  /// The outcome on an event loop; `nil` if it was not begun there.
  var begun: BegunExchange?
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
  var origin: ResourceOrigin?
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
    var policy = self.policy
    if key.partition.isShared { policy.mode = .shared }
    return policy
  }

  /// The request that goes over the wire, for one that the cache's rules made.
  func wireRequest(for request: HTTPRequest) -> HTTPRequest {
    var request = request
    request.method = method
    if let target { request.path = target }
    return request
  }
}

/// Remembers texts that were parsed as URLs: pages ask for the same ones again and again, and parsing one costs more
/// than a hit in memory. The plain ones need no parsing.
final class URLMemo: Sendable {
  struct Entry: Sendable {
    /// As it is sent.
    let url: PageURL
    /// As responses are looked up.
    let identity: PageURL

    init(_ url: PageURL, ignoring ignored: Set<String>) {
      self.url = url
      identity = ignored.isEmpty ? url : PageURL(url.text, ignoring: ignored) ?? url
    }

    fileprivate init(plain url: PageURL) { (self.url, identity) = (url, url) }
  }

  private let entries = LRUCache<String, Entry>(capacity: 2_000)

  /// Returns `nil` if the text is not a URL.
  func entry(for text: String, ignoring ignored: Set<String>) -> Entry? {
    if let plain = PageURL(plain: text) { return Entry(plain: plain) }
    if let known = entries[text] { return known }
    guard let url = PageURL(text, ignoring: []) else { return nil }
    let entry = Entry(url, ignoring: ignored)
    entries.insert(entry, for: text, cost: 1)
    return entry
  }
}
