import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import ServerKit

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
    let members: [String: JSONValue]
    do { members = try JSONValue(reading: bytes).decoded() } catch {
      throw PurgeError("the body is not a JSON object: \(error.jsonReason)")
    }
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

  /// The members that concern all hosts, as ``init(json:)`` reads them.
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
    JSONAnswer.error(status, description)
  }
}
