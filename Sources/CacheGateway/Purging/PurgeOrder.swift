import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import ServerKit

/// An admin's order to purge: `{"url": "…"}`, `{"prefix": "…"}`, `{"tag": "…"}`, `{"tags": […]}` or `{"all": true}`,
/// each with `"soft": true` or without.
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
    if let other = members.keys.sorted().first(where: { !choices.contains($0) && $0 != "soft" }) {
      throw PurgeError("a purge has no \(other.quotedForMessage), only url, prefix, tag, tags or all, and soft")
    }
    let named = choices.filter { members[$0] != nil }
    guard named.count == 1, let name = named.first, let value = members[name] else {
      let found = named.isEmpty ? "none of them" : named.joined(separator: " and ")
      throw PurgeError("expected exactly one of url, prefix, tag, tags and all, found \(found)")
    }
    switch members["soft"] {
    case nil: break
    case .bool(let value): isSoft = value
    default: throw PurgeError("soft is neither true nor false")
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
struct PurgeError: Error, HTTPResponseError, CustomStringConvertible {
  let status: HTTPResponse.Status
  let description: String

  init(_ description: String, status: HTTPResponse.Status = .badRequest) {
    self.status = status
    self.description = description
  }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    JSONAnswer.error(status, description)
  }
}
