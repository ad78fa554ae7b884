import ServerKit

/// The rule that forbids a fetch.
struct AccessRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  enum Rule: Hashable, Sendable {
    /// The origin is not permitted.
    case origin(String)
    /// The address is not public, and no setting names it.
    case address(String, AddressKind)
    /// The file is outside of the release's folder.
    case folder
    /// The URL is not an HTTP URL.
    case notAURL
  }

  let url: String
  let rule: Rule

  /// The name of the rule in responses.
  var name: String {
    switch rule {
    case .origin: "origin"
    case .address: "address"
    case .folder: "folder"
    case .notAURL: "url"
    }
  }

  var description: String {
    switch rule {
    case .origin(let origin):
      "\(url) is not fetched: its origin (\(origin)) is neither the manifest's nor allowed; allow it with --allow-origin"
    case .address(let address, let kind):
      "\(url) is not fetched: \(address) is a \(kind.rawValue) address that was not named; name it with --allow-origin \(address)"
    case .folder: "\(url) is not read: it is outside the folder of bundles"
    case .notAURL: "\(url) is not fetched: it is not an http or https URL"
    }
  }
}

/// An error of a setting that is neither an origin nor a network.
enum AccessError: Error, Hashable, CustomStringConvertible {
  case notAnOrigin(String)

  var description: String {
    switch self {
    case .notAnOrigin(let text):
      "\"\(text)\" is neither an origin (https://api.example.com) nor a network (10.1.0.0/16)"
    }
  }
}
