import HTTPTransport

/// The query parameters that belong to a page's identity, if a manifest lists the page without them.
///
/// An entry with exactly the page's URL takes precedence. The page itself always sees its whole URL. In a manifest:
/// `"identity": {"ignore": "*"}` or `"identity": {"ignore": ["id", "from"]}`.
package enum PageIdentity: Hashable, Sendable {
  /// Ignores all parameters: `home.js?id=1` is the manifest's `home.js`. The default.
  case ignoringAllParameters
  /// Ignores the named parameters and keeps all others.
  case ignoring(Set<String>)

  /// The page's URL without the ignored parameters.
  package func reduced(_ url: PageURL) -> PageURL {
    guard let mark = url.text.firstIndex(of: "?") else { return url }
    let path = String(url.text[..<mark])
    switch self {
    case .ignoringAllParameters: return PageURL(normalised: path)
    case .ignoring(let names):
      let kept = url.text[url.text.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        .filter { !names.contains(String($0.prefix { $0 != "=" })) }
      return PageURL(normalised: kept.isEmpty ? path : path + "?" + kept.joined(separator: "&"))
    }
  }
}

extension PageIdentity: Codable {
  private enum CodingKeys: String, CodingKey { case ignore }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if let text = try? container.decode(String.self, forKey: .ignore) {
      guard text == "*" else {
        throw DecodingError.dataCorruptedError(
          forKey: .ignore, in: container,
          debugDescription: "\(text.quotedForMessage) is neither \"*\" nor a list of parameters")
      }
      self = .ignoringAllParameters
    } else {
      guard let names = try? container.decode([String].self, forKey: .ignore) else {
        throw DecodingError.dataCorruptedError(
          forKey: .ignore, in: container,
          debugDescription: "\"ignore\" must be \"*\" or a list of parameters' names")
      }
      self = .ignoring(Set(names))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .ignoringAllParameters: try container.encode("*", forKey: .ignore)
    case .ignoring(let names): try container.encode(names.sorted(), forKey: .ignore)
    }
  }
}
