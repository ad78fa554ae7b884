import NIOHTTP1

/// The form of a request's target. RFC 9112 §3.2.
enum RequestTargetForm: Equatable {
  /// A path with its query, `*` with OPTIONS, or a host and port with CONNECT.
  case plain
  /// A URL, which means its path at the host that it names.
  case absolute(authority: String, target: String)
  case refused

  init(_ target: String, _ method: HTTPMethod) {
    if target.hasPrefix("/") || target == "*" && method == .OPTIONS || method == .CONNECT {
      self = .plain
      return
    }
    guard let scheme = ["http://", "https://"].first(where: { target.prefix($0.count).lowercased() == $0 }) else {
      self = .refused
      return
    }
    let text = target.dropFirst(scheme.count)
    let authority = text.prefix { !"/?#".contains($0) }
    // RFC 9110 §4.2.1, §4.2.4: a missing host, or a user's name before it, is an error.
    guard !authority.isEmpty, !authority.hasPrefix(":"), !authority.contains("@") else {
      self = .refused
      return
    }
    let rest = String(text.dropFirst(authority.count))
    // RFC 9112 §3.2.4: without a path OPTIONS means the server as a whole.
    let path = rest.isEmpty && method == .OPTIONS ? "*" : rest.hasPrefix("/") ? rest : "/" + rest
    self = .absolute(authority: String(authority), target: path)
  }
}
