import HTTPTypes

/// The decision about a response that may be a redirect. RFC 9110 §15.4.
package enum RedirectDecision: Equatable {
  /// The response is not a redirect.
  case use
  case follow(PageURL)
  case refuse(RedirectFault)

  /// The largest number of redirects for one request.
  package static let limit = 10

  package init(
    for response: HTTPResponse, at url: PageURL, visited: [PageURL],
    ignoring ignored: Set<String> = PageURL.ignoredParameters
  ) {
    guard [301, 302, 303, 307, 308].contains(response.status.code) else {
      self = .use
      return
    }
    guard let location = response.headerFields[.location] else {
      self = .refuse(.noLocation(url))
      return
    }
    // RFC 9110 §10.2.2: a redirect has one place. Of several, none is known to be the right one.
    let isOne = Set(response.headerFields[values: .location]).count == 1
    guard isOne, let target = url.resolving(location, ignoring: ignored), url.mayName(target) else {
      self = .refuse(.badLocation(url, location))
      return
    }
    if visited.contains(target) || target == url {
      self = .refuse(.loop(target))
    } else if visited.count >= Self.limit {
      self = .refuse(.tooMany(url))
    } else if url.text.hasPrefix("https:"), target.text.hasPrefix("http:") {
      self = .refuse(.downgrade(url, to: target))
    } else {
      self = .follow(target)
    }
  }
}

/// The reason why a redirect is not followed.
public enum RedirectFault: Error, Hashable, CustomStringConvertible {
  /// The response has no `Location`.
  case noLocation(PageURL)
  /// `Location` is not an `http` or `https` URL.
  case badLocation(PageURL, String)
  /// The redirects lead back to a URL that was visited before.
  case loop(PageURL)
  /// There are more than 10 redirects.
  case tooMany(PageURL)
  /// The redirect leads from `https` to `http`.
  case downgrade(PageURL, to: PageURL)

  public var description: String {
    switch self {
    case .noLocation(let url): "\(url): the redirect has no Location"
    case .badLocation(let url, let location):
      "\(url): the redirect leads to \(location.quotedForMessage), no http or https URL"
    case .loop(let url): "\(url): the redirects go round in a circle"
    case .tooMany(let url): "\(url): more than \(RedirectDecision.limit) redirects"
    case .downgrade(let url, let target): "\(url): the redirect leads from https to \(target), which is not secure"
    }
  }
}
