import ServerKit

/// The rule that forbids a fetch.
struct AccessRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  enum Rule: Hashable, Sendable {
    /// The origin is not permitted.
    case origin(String)
    /// The address is not public, and nobody has named it.
    case address(String, AddressKind)
    /// A file outside of the release.
    case folder
    /// Not a URL that is fetched over HTTP.
    case notAURL
  }

  let url: String
  let rule: Rule

  /// The name of the rule in answers.
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
    case .folder: "\(url) is not read: it is outside of the bundles' folder"
    case .notAURL: "\(url) is not fetched: it is no http or https URL"
    }
  }
}

/// A text of the settings that makes no policy.
enum AccessError: Error, Hashable, CustomStringConvertible {
  case notAnOrigin(String)

  var description: String {
    switch self {
    case .notAnOrigin(let text):
      "\"\(text)\" is neither an origin (https://api.example.com) nor a network (10.1.0.0/16)"
    }
  }
}
