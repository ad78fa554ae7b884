import PageKit
import ServerKit
import Synchronization

/// Decides which URLs the daemon fetches for pages and callers: only those of named origins.
///
/// Pure; ``AccessGuard`` asks it for every request and every connection.
struct AccessPolicy: Hashable, Sendable {
  /// The origins of the manifest and of the settings.
  private(set) var origins: Set<WebOrigin> = []
  /// The origins of the settings. Only these open private networks: a manifest may come from another machine.
  private var told: Set<WebOrigin> = []
  /// The networks of the settings, whose addresses may be private.
  private(set) var networks: [AddressRange] = []
  /// The folders that `file:` URLs may lead to: paths that end with `/`.
  private(set) var folders: [String] = []
  /// `true` to fetch from every origin at every address.
  private var isOpen = false

  init() {}

  /// For pages that their author runs: everything on the network, and the files of a folder.
  init(openTo folder: String) {
    folders = [folder + "/"]
    isOpen = true
  }

  /// - Parameters:
  ///   - allowed: origins such as `https://api.example.com`, and networks such as `10.1.0.0/16`.
  ///   - manifest: its own URL; `nil` for a folder.
  /// - Throws: ``DescribedError`` for a text that is neither an origin nor a network.
  init(allowed: [String], manifest: PageURL? = nil, folders: [String] = []) throws {
    for text in allowed {
      if let range = AddressRange(text) {
        networks.append(range)
      } else if let origin = WebOrigin(text) {
        told.insert(origin)
      } else {
        throw DescribedError(
          "\"\(text)\" is neither an origin (https://api.example.com) nor a network (10.1.0.0/16)")
      }
    }
    self.folders = folders.map { $0.hasSuffix("/") ? $0 : $0 + "/" }
    if let origin = manifest.flatMap({ WebOrigin($0) }) { told.insert(origin) }
    origins = told
  }

  /// Names the origins of these URLs too: those of a manifest's bundles and of what it prefetches.
  mutating func add(_ urls: [PageURL]) { origins.formUnion(urls.compactMap { WebOrigin($0) }) }

  /// Returns the reason why a URL may not be fetched; `nil` if it may.
  func refusal(of url: PageURL) -> AccessRefusal? {
    if url.isFile {
      guard let path = url.filePath, folders.contains(where: { path.hasPrefix($0) }) else {
        return .folder(url.text)
      }
      return nil
    }
    if isOpen { return nil }
    guard let origin = WebOrigin(url) else { return .origin("unreadable", of: url.text) }
    return origins.contains(origin) ? nil : .origin("\(origin)", of: url.text)
  }

  /// Returns the reason why a host may not be connected to at its address; `nil` if it may.
  func refusal(host: String, address text: String, port: Int) -> AccessRefusal? {
    if isOpen { return nil }
    guard let address = HostAddress(text) else { return .address(text, .reserved, of: host) }
    let kind = AddressKind(address)
    if kind == .global || networks.contains(where: { $0.contains(address) }) { return nil }
    if let embedded = address.embedded, networks.contains(where: { $0.contains(embedded) }) { return nil }
    // A name says nothing about the address it resolves to. `localhost` does: RFC 6761 §6.3.
    let named = HostAddress(host: host)
    let isNamed = told.contains { origin in
      guard origin.port == port else { return false }
      if let named { return origin.host == named.text && (named == address || named.embedded == address) }
      return origin.host == "localhost" && host.lowercased() == "localhost" && kind == .loopback
    }
    return isNamed ? nil : .address(address.text, kind, of: host)
  }
}

/// The rule that forbids a fetch.
enum AccessRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  /// The origin of a URL is not permitted.
  case origin(String, of: String)
  /// The address of a host is not public, and no setting names it.
  case address(String, AddressKind, of: String)
  /// The file of a URL is outside of the release's folder.
  case folder(String)
  /// The text is not an HTTP URL.
  case notAURL(String)

  /// The name of the rule in responses.
  var name: String {
    switch self {
    case .origin: "origin"
    case .address: "address"
    case .folder: "folder"
    case .notAURL: "url"
    }
  }

  var description: String {
    switch self {
    case .origin(let origin, let url):
      "\(url) is not fetched: its origin (\(origin)) is neither the manifest's nor allowed; allow it with --allow-origin"
    case .address(let address, let kind, let host):
      "\(host) is not fetched: \(address) is a \(kind.rawValue) address that was not named; name it with --allow-origin \(address)"
    case .folder(let url): "\(url) is not read: it is outside the folder of bundles"
    case .notAURL(let url): "\(url) is not fetched: it is not an http or https URL"
    }
  }
}

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

/// Holds the current access policy and applies it to every fetch.
final class AccessGuard: Sendable {
  private let base: AccessPolicy
  let record: HostRecord
  private let state: Mutex<AccessPolicy>

  /// - Parameter policy: the part of the policy that holds for every release.
  init(_ policy: AccessPolicy, record: HostRecord = HostRecord()) {
    self.record = record
    base = policy
    state = Mutex(policy)
  }

  /// Replaces the origins of the previous release with those of a new one.
  func follow(_ release: [PageBundle]) {
    var policy = base
    policy.add(
      release.flatMap { bundle in
        [bundle.url, bundle.contentURL] + bundle.prefetch.compactMap { bundle.url.resolving($0) }
      })
    self.policy = policy
  }

  var policy: AccessPolicy {
    get { state.withLock(\.self) }
    set { state.withLock { $0 = newValue } }
  }

  /// - Throws: ``AccessRefusal``.
  func check(_ url: PageURL) throws {
    guard let refusal = policy.refusal(of: url) else { return }
    record.refused(refusal)
    throw refusal
  }

  /// A libcurl transport that checks each address it connects to against the policy, and uses no proxy of the
  /// environment.
  ///
  /// - Throws: ``TransportError``.
  func transport(_ configuration: CurlTransport.Configuration = .init()) throws -> any HTTPTransporting {
    var configuration = configuration
    configuration.usesEnvironmentProxies = false
    configuration.refusal = { [weak self] host, address, port in
      guard let self else { return "the daemon is ending" }
      guard let refusal = policy.refusal(host: host, address: address, port: port) else { return nil }
      record.refused(refusal)
      return refusal.description
    }
    return GuardedTransport(base: try CurlTransport(configuration), access: self)
  }
}

/// Sends the requests that the policy allows. Each redirect comes here again as a request of its own.
struct GuardedTransport: HTTPTransporting {
  let base: any HTTPTransporting
  let access: AccessGuard

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    guard let url = PageURL(request.url, ignoring: []) else { throw AccessRefusal.notAURL(request.url) }
    try access.check(url)
    return try await base.send(request)
  }

  func shutDown() async { await base.shutDown() }
}
