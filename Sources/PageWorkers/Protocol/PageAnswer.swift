import HTTPTypes
import PageKit

/// An answer of the daemon to a ``PageQuestion``. A resource may have several updates, and then `end`.
package enum PageAnswer: Codable, Sendable {
  /// The bytes are the body, or its first piece.
  case update(RelayedUpdate)
  /// The next piece of the previous update, or of the bundle.
  case piece(hasMore: Bool)
  /// The bytes are the bundle's text, or its first piece.
  case bundle(hasMore: Bool)
  case value(String?)
  case keys([String])
  case failed(String)
  case end
}

/// A ``ResourceUpdate`` with a response, in the form of messages.
package struct RelayedUpdate: Codable, Sendable {
  package enum Kind: String, Codable, Sendable {
    case cached
    case network
    case notModified
    /// The network failed after a stored response was delivered.
    case failed
  }

  var kind: Kind
  package var url: String?
  var status: Int
  var fields: [[String]]
  var source: String
  var age: Int64?
  var generation: UInt64
  var hasMore: Bool

  package init(_ kind: Kind, _ loaded: Resource, hasMore: Bool) {
    self.kind = kind
    url = loaded.url?.text
    status = loaded.status
    fields = loaded.response.headerFields.wire
    source = loaded.source.rawValue
    age = loaded.age
    generation = loaded.generation
    self.hasMore = hasMore
  }

  func update(bytes: [UInt8]) -> ResourceUpdate {
    let loaded = Resource(
      relayed: HTTPResponse(
        status: .init(code: (100...999).contains(status) ? status : 500), headerFields: HTTPFields(wire: fields)),
      url: url.flatMap { PageURL($0) }, bytes: bytes, source: Resource.Source(rawValue: source) ?? .network, age: age,
      generation: generation)
    switch kind {
    case .cached: return .cached(loaded)
    case .network: return .network(loaded)
    case .notModified: return .notModified(loaded)
    case .failed: return .failed(LoadFailure(relayed: loaded))
    }
  }
}
