import HTTPTypes
import PageKit

/// A question of a page in a worker to the daemon.
package enum PageQuestion: Codable, Sendable {
  /// A resource; the bytes are the request's body.
  case resource(ResourceQuestion)
  /// The bundle of an embedded page.
  case bundle(url: String)
  case storedValue(key: String)
  /// The bytes are the value.
  case storeValue(key: String)
  case removeValue(key: String)
  case storedKeys
}

/// A ``ResourceRequest`` in the form of messages.
package struct ResourceQuestion: Codable, Sendable {
  package var reference: String
  var base: String?
  var type: String
  var method: String
  var fields: [[String]]
  var behavior: WireBehavior?
  var priority: Int
  var followsRedirects: Bool

  init(_ request: ResourceRequest) {
    reference = request.reference
    base = request.base?.text
    type = request.type.rawValue
    method = request.method.rawValue
    fields = request.fields.wire
    behavior = request.behavior.map { WireBehavior($0) }
    priority = request.priority.rawValue
    followsRedirects = request.followsRedirects
  }

  /// `nil` if the values are not a valid request.
  package func request(body: [UInt8]) -> ResourceRequest? {
    guard let method = HTTPRequest.Method(method), let type = ResourceType(rawValue: type) else { return nil }
    return ResourceRequest(
      reference, base: base.flatMap { PageURL($0) }, type: type, method: method, fields: HTTPFields(wire: fields),
      body: body, behavior: behavior?.behavior, priority: LoadPriority(rawValue: priority) ?? .normal,
      followsRedirects: followsRedirects)
  }
}

extension HTTPFields {
  /// Names and values.
  var wire: [[String]] { map { [$0.name.rawName, $0.value] } }

  /// Invalid fields are omitted.
  init(wire: [[String]]) {
    self.init()
    for pair in wire where pair.count == 2 {
      guard let name = HTTPField.Name(pair[0]), HTTPField.isValidValue(pair[1]) else { continue }
      append(HTTPField(name: name, value: pair[1]))
    }
  }
}

/// A ``LoadBehavior`` in the form of messages.
struct WireBehavior: Codable, Hashable, Sendable {
  private var read: Int
  private var network: Int
  private var fallback: Int
  private var refresh: Int
  private var patience: Double?
  private var yieldsOffline: Bool

  private static let reads: [LoadBehavior.CacheRead] = [.never, .valid, .any]
  private static let uses: [LoadBehavior.NetworkUse] = [
    .never, .onMiss, .revalidating, .reloading, .reloadingPastAllCaches,
  ]
  private static let fallbacks: [LoadBehavior.Fallback] = [.never, .permitted, .any]
  private static let refreshes: [LoadBehavior.Refresh] = [.never, .whenStale, .always]

  init(_ behavior: LoadBehavior) {
    read = Self.reads.firstIndex(of: behavior.cacheRead) ?? 0
    network = Self.uses.firstIndex(of: behavior.network) ?? 0
    fallback = Self.fallbacks.firstIndex(of: behavior.fallback) ?? 0
    refresh = Self.refreshes.firstIndex(of: behavior.refresh) ?? 0
    patience = behavior.patience?.seconds
    yieldsOffline = behavior.yieldsOffline
  }

  var behavior: LoadBehavior? {
    guard Self.reads.indices.contains(read), Self.uses.indices.contains(network),
      Self.fallbacks.indices.contains(fallback), Self.refreshes.indices.contains(refresh)
    else { return nil }
    return LoadBehavior(
      cacheRead: Self.reads[read], network: Self.uses[network], fallback: Self.fallbacks[fallback],
      refresh: Self.refreshes[refresh], patience: patience.map { .seconds(min(max($0, 0), 3_600)) },
      yieldsOffline: yieldsOffline)
  }
}
