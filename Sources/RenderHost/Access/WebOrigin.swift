import PageKit
import ServerKit

/// The scheme, host and port of a URL, normalised so that each origin has one spelling. RFC 6454 §4.
struct WebOrigin: Hashable, Sendable, CustomStringConvertible {
  let scheme: String
  /// The host in lower case without a trailing dot; an address in its shortest form, without brackets.
  let host: String
  let port: Int

  /// Returns `nil` if the text is not an `http` or `https` URL, or if its authority has a user, an escape or a
  /// backslash.
  init?(_ text: String) {
    guard let url = PageURL(text) else { return nil }
    self.init(url)
  }

  init?(_ url: PageURL) {
    guard !url.isFile, let slashes = url.text.firstRange(of: "://") else { return nil }
    scheme = String(url.text[..<slashes.lowerBound])
    var authority = url.text[slashes.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard !authority.contains("@"), !authority.contains("%"), !authority.contains("\\") else { return nil }
    var port = scheme == "https" ? 443 : 80
    if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
      guard let given = Int(authority[authority.index(after: colon)...]), (1...65_535).contains(given) else {
        return nil
      }
      port = given
      authority = authority[..<colon]
    }
    self.port = port
    if let address = HostAddress(host: String(authority)) {
      host = address.text
    } else {
      let name = authority.hasSuffix(".") ? authority.dropLast() : authority
      guard !name.isEmpty, !name.hasPrefix("[") else { return nil }
      host = name.lowercased()
    }
  }

  var description: String {
    let host = SettingText.bracketed(host)
    return "\(scheme)://\(host)" + (port == (scheme == "https" ? 443 : 80) ? "" : ":\(port)")
  }
}
