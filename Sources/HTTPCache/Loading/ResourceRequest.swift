import Foundation
import HTTPTransport
import HTTPTypes

/// Kinds of resources, which rules can tell apart.
public enum ResourceType: String, Hashable, Sendable, CaseIterable {
  /// A picture.
  case image
  /// A font.
  case font
  /// A script.
  case script
  /// `stream.fetch` and the like.
  case fetch
  /// A page.
  case page
  /// Anything else.
  case other
}

/// Anything a page asks for.
///
///     var request = ResourceRequest("https://api.example.com/items?page=2", behavior: .cacheFirst)
///     request.fields[.accept] = "application/json"
///     let items = try await host.resources.response(for: request).decoded(as: [Item].self)
public struct ResourceRequest: Sendable {
  /// As the page wrote it: absolute, `//host/…`, relative, `local://…` or `data:…`.
  public var reference: String
  /// The URL that a relative reference is resolved against: the page's.
  public var base: PageURL?
  /// The kind of resource, which rules can tell apart.
  public var type: ResourceType
  /// GET by default.
  public var method: HTTPRequest.Method
  /// The request's own header fields.
  public var fields: HTTPFields
  /// Sent as it is, unless ``compressesBody``.
  public var body: [UInt8]
  /// Compresses the body with gzip, for a server that is known to take that.
  public var compressesBody: Bool
  /// `nil` for the rule's.
  public var behavior: LoadBehavior?
  /// How urgent it is where transfers have to wait.
  public var priority: LoadPriority
  /// The partition it belongs to; `nil` for the loader's own.
  public var partition: CachePartition?
  /// Redirects are followed, ten at most.
  public var followsRedirects: Bool
  /// The files that the page sees, such as its release's: requests for their URLs are answered from them. `nil` for the
  /// current ones.
  package var snapshot: (any FileSnapshot)?
  /// The body is wanted as the server encoded it.
  public var keepsContentEncoding: Bool
  /// The answer may be stored; false for one that only this request is to have.
  package var isStored = true
  /// A body in place of `body`, sent once.
  public var stream: RequestStream?
  /// Sent as the request's target in the place of the reference's path and query; the reference alone says what is
  /// looked up.
  package var target: String?
  /// The host that the client asked for, if the server has another name. It is part of the cache key. `nil` for the
  /// reference's own.
  package var host: String?
  /// The client's name for the server, with the port: `Location` and `Content-Location` with it count as the server's
  /// own when stored responses are invalidated. `nil` for the reference's own.
  package var clientHost: String?
  /// Is called with interim responses as they come, if this very request goes to the server.
  package var informational: (@Sendable (HTTPResponse) -> Void)?
  /// The outcome of the request on an event loop; `nil` if it was not begun there.
  package var begun: BegunExchange?
  /// The handler that answers instead of the server; `nil` for the server.
  var origin: ResourceOrigin?

  /// Makes a request. Each parameter is the property of the same name.
  ///
  /// - Parameters:
  ///   - reference: absolute, `//host/…`, relative, `local://…` or `data:…`.
  ///   - base: what a relative reference counts from.
  public init(
    _ reference: String, base: PageURL? = nil, type: ResourceType = .other, method: HTTPRequest.Method = .get,
    fields: HTTPFields = [:], body: [UInt8] = [], compressesBody: Bool = false, behavior: LoadBehavior? = nil,
    priority: LoadPriority = .normal, partition: CachePartition? = nil, followsRedirects: Bool = true,
    keepsContentEncoding: Bool = false
  ) {
    self.reference = reference
    self.base = base
    self.type = type
    self.method = method
    self.fields = fields
    self.body = body
    self.compressesBody = compressesBody
    self.behavior = behavior
    self.priority = priority
    self.partition = partition
    self.followsRedirects = followsRedirects
    self.keepsContentEncoding = keepsContentEncoding
  }
}

/// The reason why a resource cannot be loaded. Stored responses stay as they are.
public enum LoadError: Error, CustomStringConvertible {
  /// The reference cannot be resolved to a URL.
  case invalidReference(String)
  /// The behaviour leaves out the network, and nothing stored may be used.
  case notStored(PageURL, reason: String)
  /// The origin could not be reached a moment ago, and nothing stored may be used.
  case offline(PageURL)
  /// The origin could not be reached, and the stored response has to be validated first, as by `must-revalidate`.
  case unvalidated(PageURL, because: any Error)
  /// The queue of requests that wait for a transfer is full.
  case busy(PageURL, limit: Int)
  /// The file of a `file` URL cannot be read.
  case unreadableFile(PageURL, reason: String)
  /// The `data:` URL does not follow RFC 2397; with the reason.
  case badDataURL(String)
  /// The body has more than `limit` bytes.
  case tooLarge(PageURL, limit: Int64)

  public var description: String {
    switch self {
    case .invalidReference(let text):
      "\(text.quotedForMessage) is no URL that can be loaded: give an absolute one, or a base for a relative one"
    case .notStored(let url, let reason): "\(url): the network may not be asked, and \(reason)"
    case .offline(let url): "\(url): the origin could not be reached a moment ago, and nothing stored may be used"
    case .unvalidated(let url, let error):
      "\(url): what is stored may not be used without asking its server (RFC 9111 §5.2.2.2): \(error.sentence)"
    case .busy(let url, let limit): "\(url): \(limit) requests wait for the origin already; try again a little later"
    case .unreadableFile(let url, let reason): "\(url.readable): \(reason)"
    case .badDataURL(let reason): "the data: URL cannot be read: \(reason)"
    case .tooLarge(let url, let limit): "\(url): the answer has more than the limit of \(limit) bytes"
    }
  }
}

extension LoadError: RetryableError {
  package var isRetryable: Bool {
    switch self {
    case .offline, .busy: true
    default: false
    }
  }
}

extension ResourceRequest {
  /// Makes a request for a URL. Each other parameter is the property of the same name.
  ///
  ///     let request = ResourceRequest(site.appending(path: "list.json"), behavior: .cacheFirst)
  ///
  /// - Parameter url: an absolute URL.
  public init(
    _ url: URL, type: ResourceType = .other, method: HTTPRequest.Method = .get, fields: HTTPFields = [:],
    body: Data = Data(), behavior: LoadBehavior? = nil, priority: LoadPriority = .normal,
    partition: CachePartition? = nil
  ) {
    self.init(
      url.absoluteString, type: type, method: method, fields: fields, body: Array(body), behavior: behavior,
      priority: priority, partition: partition)
  }
}
