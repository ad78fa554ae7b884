import CoreMetrics
import Foundation
import HTTPCache
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServerKit

/// Purges the gateway's stored responses.
package struct GatewayPurge: Sendable {
  let gateway: Gateway
  let metrics: HostMetrics

  package init(of gateway: Gateway, metrics: HostMetrics) { (self.gateway, self.metrics) = (gateway, metrics) }

  /// - Throws: ``PurgeError`` for an order that no origin can carry out.
  package func check(_ order: PurgeOrder) throws { _ = try checkedSelections(order, gateway.origins) }

  private func checkedSelections(_ order: PurgeOrder, _ origins: [GatewayOrigin]) throws -> [ResponseSelection?] {
    let selections = try selections(order.selection, origins)
    guard selections.contains(where: { $0 != nil }) else {
      throw PurgeError("no origin of this gateway has that host: expected the host of an origin, or a path")
    }
    return selections
  }

  /// - Returns: the number of purged responses.
  /// - Throws: ``PurgeError``, ``StoreError``.
  package func callAsFunction(_ order: PurgeOrder) async throws -> Int {
    let origins = gateway.origins
    let selections = try checkedSelections(order, origins)
    var count = 0
    for (origin, selection) in zip(origins, selections) {
      guard let selection else { continue }
      let met = try await origin.loader.purge(selection, isSoft: order.isSoft)
      metrics.gatewayPurged(order.selection.kind, isSoft: order.isSoft).increment(by: Int64(met))
      count += met
    }
    return count
  }

  /// The selection for each origin; `nil` for an origin that the order does not concern.
  private func selections(_ selection: PurgeOrder.Selection, _ origins: [GatewayOrigin]) throws -> [ResponseSelection?]
  {
    switch selection {
    case .all: return origins.map { _ in .all }
    case .tags(let tags): return origins.map { _ in .tags(tags) }
    case .url(let text), .prefix(let text):
      let target = try PurgeTarget(text, isPrefix: selection.kind == "prefix")
      return try origins.map { try target.selection(of: $0.settings, in: .shared) }
    }
  }
}

/// A URL or a URL prefix that clients of the gateway request, as a path or absolute.
struct PurgeTarget: Sendable {
  private let text: String
  private let isPrefix: Bool
  /// `nil` for a path.
  private let url: PageURL?

  /// - Throws: ``PurgeError``.
  init(_ text: String, isPrefix: Bool = false) throws {
    self.text = text
    self.isPrefix = isPrefix
    if text.hasPrefix("/") {
      url = nil
    } else if let url = PageURL(text, ignoring: []), !url.isFile,
      text.split(separator: "/").count > 2 || text.hasSuffix("/")
    {
      self.url = url
    } else {
      throw PurgeError("\(text.quotedForMessage) is neither a path, starting with \"/\", nor an http URL with one")
    }
  }

  /// Returns the selection of an origin's responses; `nil` if the URL belongs to another origin.
  ///
  /// - Throws: ``PurgeError`` for a text that cannot be a URL.
  func selection(of origin: OriginSettings, in partition: CachePartition) throws -> ResponseSelection? {
    guard let target = pathAndQuery(at: origin) else { return nil }
    // The last segment of a prefix may be incomplete: it must not be resolved as “.” or “..”, nor end in an escape.
    let end = isPrefix ? "x" : ""
    guard let url = PageURL(origin.url.origin + target + end, ignoring: []), url.text.hasSuffix(end),
      !isPrefix || !target.contains("#")
    else {
      throw PurgeError("\(text.quotedForMessage) cannot be \(isPrefix ? "the beginning of a URL" : "a URL")")
    }
    return isPrefix
      ? .prefix(String(url.text.dropLast(end.count)), in: partition) : .prefix(url.text + " ", in: partition)
  }

  /// Returns `nil` if the origin does not serve the URL's host.
  private func pathAndQuery(at origin: OriginSettings) -> String? {
    guard let url else { return text }
    guard url.origin == origin.url.origin || isHost(of: url, oneOf: origin.hosts) else { return nil }
    let rest = text.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true).dropFirst(2).first
    return "/" + (rest ?? "")
  }

  private func isHost(of url: PageURL, oneOf hosts: [String]) -> Bool {
    if hosts.isEmpty { return true }
    guard let authority = url.origin.split(separator: "/").last else { return false }
    var place = OriginSettings(url: url)
    place.hosts = hosts
    return OriginTable([place]).choice(authority: String(authority), path: "/") == .origin(0)
  }
}

/// An admin's order to purge: `{"url": "…"}`, `{"prefix": "…"}`, `{"tag": "…"}`, `{"tags": […]}` or `{"all": true}`,
/// each with `"soft": true` or without. In a fleet it is for all hosts, unless it has `"local": true`.
package struct PurgeOrder: Equatable, Sendable {
  enum Selection: Equatable, Sendable {
    /// Paths, or absolute URLs of an origin.
    case url(String)
    case prefix(String)
    case tags(Set<String>)
    case all

    /// The kind of selection in `renderhost_gateway_purged`.
    var kind: String {
      switch self {
      case .url: "url"
      case .prefix: "prefix"
      case .tags: "tag"
      case .all: "all"
      }
    }
  }

  let selection: Selection
  /// `true` to mark the responses as stale instead of removing them.
  var isSoft = false
  /// `true` if it is for this host alone.
  package var isLocal = false
  /// The time to wait until the other hosts have carried it out.
  package var wait: Duration = .seconds(2)

  /// The longest ``wait``.
  private static let waitLimit = 60.0
  /// The limit of tags in one order.
  static let tagLimit = 256

  init(_ selection: Selection, isSoft: Bool = false) {
    self.selection = selection
    self.isSoft = isSoft
  }

  /// - Throws: ``PurgeError``.
  package init(json bytes: [UInt8]) throws {
    let json: JSONValue
    do { json = try JSONValue(reading: bytes) } catch { throw Self.noObject(error) }
    try self.init(json)
  }

  private static func noObject(_ error: any Error) -> PurgeError {
    PurgeError("the body is not a JSON object: \(error.jsonReason)")
  }

  /// - Parameter json: as ``json`` is written.
  /// - Throws: ``PurgeError``.
  package init(_ json: JSONValue) throws {
    let members: [String: JSONValue]
    do { members = try json.decoded() } catch { throw Self.noObject(error) }
    let choices = ["all", "prefix", "tag", "tags", "url"]
    if let other = members.keys.sorted().first(where: {
      !choices.contains($0) && !["soft", "local", "wait"].contains($0)
    }) {
      throw PurgeError(
        "a purge has no \(other.quotedForMessage), only url, prefix, tag, tags or all, and soft, local and wait")
    }
    let named = choices.filter { members[$0] != nil }
    guard named.count == 1, let name = named.first, let value = members[name] else {
      let found = named.isEmpty ? "none of them" : named.joined(separator: " and ")
      throw PurgeError("expected exactly one of url, prefix, tag, tags and all, found \(found)")
    }
    isSoft = try Self.flag("soft", in: members)
    isLocal = try Self.flag("local", in: members)
    switch members["wait"] {
    case nil: break
    case .integer(let seconds) where (0...Int64(Self.waitLimit)).contains(seconds): wait = .seconds(seconds)
    case .number(let seconds) where (0...Self.waitLimit).contains(seconds): wait = .seconds(seconds)
    default: throw PurgeError("wait is not a number of seconds from 0 to \(Int(Self.waitLimit))")
    }
    switch (name, value) {
    case ("url", .string(let text)): selection = .url(text)
    case ("prefix", .string(let text)): selection = .prefix(text)
    case ("tag", _): selection = .tags(try Self.tags([value]))
    case ("tags", .array(let values)): selection = .tags(try Self.tags(values))
    case ("all", .bool(true)): selection = .all
    case ("all", _): throw PurgeError("all is not true")
    default: throw PurgeError("\(name) is not \(name == "tags" ? "a list" : "a text")")
    }
  }

  private static func flag(_ name: String, in members: [String: JSONValue]) throws -> Bool {
    switch members[name] {
    case nil: return false
    case .bool(let value): return value
    default: throw PurgeError("\(name) is neither true nor false")
    }
  }

  /// The members that concern all hosts, as ``init(_:)`` reads them.
  package var json: JSONValue {
    var members: [String: JSONValue] = isSoft ? ["soft": .bool(true)] : [:]
    switch selection {
    case .url(let text): members["url"] = .string(text)
    case .prefix(let text): members["prefix"] = .string(text)
    case .tags(let tags): members["tags"] = .array(tags.sorted().map { .string($0) })
    case .all: members["all"] = .bool(true)
    }
    return .object(members)
  }

  private static func tags(_ values: [JSONValue]) throws -> Set<String> {
    guard (1...tagLimit).contains(values.count) else {
      throw PurgeError("a purge has from 1 to \(tagLimit) tags; this one has \(values.count)")
    }
    return Set(
      try values.map { value in
        guard case .string(let text) = value, let tag = CacheTags.accepted(text) else {
          throw PurgeError("a tag is a text of 1 to \(CacheTags.lengthLimit) bytes")
        }
        return tag
      })
  }
}

// MARK: - Errors

/// An error of an invalid order, with the reason.
package struct PurgeError: Error, HTTPResponseError, CustomStringConvertible {
  package let status: HTTPResponse.Status
  package let description: String

  package init(_ description: String, status: HTTPResponse.Status = .badRequest) {
    self.status = status
    self.description = description
  }

  package func response(from request: Request, context: some RequestContext) throws -> Response {
    Response.error(status, description)
  }
}

/// The number of purged responses and, in a fleet, the hosts that have carried the order out (`confirmed`) and those that
/// have not (`missing`).
package struct PurgeAnswer: Codable, Equatable, Sendable {
  package var purged: Int
  package var confirmed: [String]?
  package var missing: [String]?

  package init(purged: Int, confirmed: [String]? = nil, missing: [String]? = nil) {
    (self.purged, self.confirmed, self.missing) = (purged, confirmed, missing)
  }
}

extension GatewayPurge {
  private static let bodyLimit = 256 << 10

  /// Adds `POST /admin/gateway/purge`, which answers with a ``PurgeAnswer``.
  ///
  /// - Parameter purge: purges; `nil` if there is no gateway.
  package static func addRoute(
    to router: some RouterMethods<HostRequestContext>,
    purge: (@Sendable (PurgeOrder) async throws -> PurgeAnswer)?
  ) {
    router.post("gateway/purge") { request, context in
      guard let purge else {
        throw PurgeError("this host has no gateway to purge; it is started with --gateway", status: .notFound)
      }
      let order = try PurgeOrder(json: try await request.bytes(upTo: bodyLimit))
      do {
        let answer = try await purge(order)
        context.requestLogger.notice(
          "The gateway was purged",
          metadata: ["kind": "\(order.selection.kind)", "soft": "\(order.isSoft)", "purged": "\(answer.purged)"])
        return Response.json(answer)
      } catch let error where !(error is PurgeError) {
        context.requestLogger.error("The gateway was not purged", metadata: ["error": "\(error)"])
        throw PurgeError("\(error)", status: .internalServerError)
      }
    }
  }
}
