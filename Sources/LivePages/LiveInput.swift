import HTTPTransport

/// An event of a viewer, as the viewer's script sends it.
package struct LiveInput: Decodable, Hashable, Sendable {
  /// The element's ref in the document.
  package let ref: String
  package let type: String
  /// The members of the event, such as `position` and `value`.
  package let event: JSONValue?
  /// The user's changes of the element: `{"attrs": {"value": "Ann"}}`.
  package let changes: JSONValue?

  private enum CodingKeys: CodingKey { case ref, type, event, changes }

  package init(ref: String, type: String, event: JSONValue? = nil, changes: JSONValue? = nil) {
    (self.ref, self.type, self.event, self.changes) = (ref, type, event, changes)
  }

  /// The limit of a body with events, in bytes.
  package static let byteLimit = 256 << 10
  /// The limit of events in a body.
  package static let countLimit = 64
  /// The limit of a ref in bytes.
  private static let refLimit = 4_096

  /// The types that a browser fires.
  package static let types: Set<String> = [
    "appear", "blur", "change", "click", "disappear", "focus", "input", "loadmore", "longpress", "return", "scroll",
    "scrollend", "scrollstart", "swipe", "viewappear", "viewdisappear",
  ]
  /// The attributes that a user changes.
  package static let attributes: Set<String> = ["checked", "index", "value"]

  private struct Inputs: Decodable, Sendable {
    let events: [LiveInput]
    let run: UInt64?
  }

  /// Reads the body of a request: `{"run", "events": [{"ref", "type", "event", "changes"}]}`.
  ///
  /// - Returns: the events, and the number of the run of the page's script that the refs are of; `nil` for the present one.
  /// - Throws: ``DescribedError`` with what was found and what was expected.
  package static func read(_ body: [UInt8]) throws -> (events: [LiveInput], run: UInt64?) {
    let inputs: [LiveInput]
    let run: UInt64?
    do {
      let read = try JSONValue(reading: body).decoded(as: Inputs.self)
      (inputs, run) = (read.events, read.run)
    } catch {
      throw DescribedError("the body is not {\"events\": [{\"ref\": …, \"type\": …}]}: \(error.jsonReason)")
    }
    guard inputs.count <= countLimit else {
      throw DescribedError("the body has \(inputs.count) events, and the limit is \(countLimit)")
    }
    for input in inputs { try input.check() }
    return (inputs, run)
  }

  private func check() throws {
    guard Self.types.contains(type) else {
      throw DescribedError(
        "a browser fires no event \(type.quotedForMessage): known are \(Self.types.sorted().joined(separator: ", "))")
    }
    guard ref.utf8.count <= Self.refLimit else {
      throw DescribedError("an event's ref has \(ref.utf8.count) bytes, and the limit is \(Self.refLimit)")
    }
    switch event {
    case nil, .null, .object: break
    default: throw DescribedError("the member event of \(type.quotedForMessage) is not an object")
    }
    guard let changes, changes != .null else { return }
    guard case .object(let parts) = changes, parts.count == 1, case .object(let changed)? = parts["attrs"],
      changed.keys.allSatisfy(Self.attributes.contains)
    else {
      throw DescribedError(
        "the changes of \(type.quotedForMessage) are not {\"attrs\": {…}} with \(Self.attributes.sorted().joined(separator: ", "))"
      )
    }
  }
}
