import HTTPCache
import HTTPCaching
import HTTPTransport
import HTTPTypes
import ServerKit

/// The settings of one origin of the gateway.
package struct OriginSettings: Sendable {
  /// The name in metrics and of the folder in the store: lowercase letters, digits and `-`.
  package var name: String
  package var url: PageURL
  /// Further servers with the same content. Requests go to all servers in turn.
  package var others: [PageURL] = []
  /// The hosts that clients request, in lowercase: `api.example.com`, or `*.example.com` for all subdomains. Empty for
  /// any.
  package var hosts: [String] = []
  /// The path prefixes, by whole segments. Empty for any.
  package var prefixes: [String] = []

  /// The limit of concurrent requests to it; more wait.
  package var connections = 128
  /// The limit of waiting requests; more get 503.
  package var waiting = 1000
  /// The time limit of name resolution, connection and TLS.
  package var connectTime: Duration = .seconds(5)
  /// The longest time without a byte.
  package var idleTime: Duration = .seconds(60)
  /// The longest wait for the answer to an equal request of another client.
  package var shareTime: Duration = .seconds(10)
  /// The limit of a response's body in bytes.
  package var answerLimit: Int64 = 1 << 30
  /// The capacities of the stored responses in memory and on disk, in bytes.
  package var memory = 64 << 20
  package var disk: Int64 = 4 << 30
  /// The PEM file of certificate authorities that replace the system's.
  package var certificateAuthorities: String?
  package var patience = Reachability.Patience()
  /// The path that checks request from each server; `nil` for no checks.
  package var healthPath: String?
  /// The time from the end of a check to the start of the next.
  package var healthInterval: Duration = .seconds(10)

  /// The fields that describe the client to it.
  package var forwarding: Forwarding = .xForwarded
  /// Responses without validators up to this many bytes get an `ETag` of their content; 0 for none.
  package var tagLimit = 0
  /// The content codings that it uses. Others are removed from `Accept-Encoding`, so that clients that differ in them
  /// share stored responses. `nil` for all.
  package var codings: [String]?
  /// The targeted fields that apply to the gateway, the most specific first. RFC 9213 §2.2.
  package var targets: [HTTPField.Name] = [HTTPField.Name.cdnCacheControl].compactMap(\.self)
  /// The behaviour of requests that no rule matches.
  package var behavior: LoadBehavior = .protocolCache
  package var rules: [ResourceRule] = []
  /// The JSON text that it was read from; empty for an origin of `--origin`.
  package var text = ""

  /// The fields that name the client, the host and the protocol.
  package enum Forwarding: String, CaseIterable, Sendable {
    case none
    /// `X-Forwarded-For`, `-Proto`, `-Host`.
    case xForwarded = "x-forwarded"
    /// `Forwarded`, RFC 7239.
    case forwarded
    case both
  }

  /// Returns `true` if another origin was written in the same way.
  func isSame(as other: OriginSettings) -> Bool { (name, url, text) == (other.name, other.url, other.text) }

  var servers: [PageURL] { [url] + others }

  package init(name: String = "origin", url: PageURL) {
    self.name = name
    self.url = url
  }
}

/// The settings of the gateway.
package struct GatewaySettings: Sendable {
  /// The address and port that it listens on; `nil` for no gateway.
  package var address: (host: String, port: Int)?
  /// The servers behind it; empty without an address.
  package var origins: [OriginSettings] = []

  package init(
    address: (host: String, port: Int)? = nil, origins: [OriginSettings] = []
  ) {
    self.address = address
    self.origins = origins
  }
}

extension SettingKey {
  package static let gateway = Self("gateway")
  package static let origin = Self("origin")
}

extension GatewaySettings {
  /// The rows of the table of settings for the gateway.
  package static let table: [Setting<GatewaySettings>] = [
    Setting(.gateway, help: "The address of the gateway, a shared cache before another server.", valueName: "host:port")
    {
      $1.address = try $0.address(like: "127.0.0.1:8081 or [::1]:8081")
    } show: { settings in
      settings.address.map { "\(SettingText.bracketed($0.host)):\($0.port)" }
    },
    Setting(
      .origin, help: "The server behind the gateway.",
      discussion: "Several, each with its own limits and rules, are given in the file, under origins.", valueName: "url"
    ) { value, settings in
      guard let url = OriginsFile.url(value.text) else { throw value.bad(OriginsFile.expectedURL) }
      settings.origins = [OriginSettings(url: url)]
    } show: {
      $0.origins.first?.url.origin
    },
  ]
}

/// Reads the origins of the gateway from `origins` in the settings' file.
package enum OriginsFile {
  /// - Throws: ``SettingsError`` for the first invalid value.
  package static func origins(in values: [JSONValue], path: String) throws -> [OriginSettings] {
    let origins = try values.enumerated().map { index, value in
      var origin = try origin(SettingsObject(value, place: "\(path), origins[\(index)]"))
      origin.text = String(decoding: value.text, as: UTF8.self)
      return origin
    }
    let names = origins.map(\.name)
    if let name = names.first(where: { name in names.count { $0 == name } > 1 }) {
      throw SettingsError.combination("\(path): two origins have the name \"\(name)\": give each its own name")
    }
    if let (first, second) = OriginTable.conflict(in: origins) {
      throw SettingsError.combination(
        "\(path): the origins \"\(first)\" and \"\(second)\" claim the same host and prefix: change one of them")
    }
    return origins
  }

  private static func origin(_ object: SettingsObject) throws -> OriginSettings {
    var object = object
    let urls = try urls(&object)
    guard let url = urls.first else {
      throw SettingsError.badValue(key: "url", value: "", source: object.place, expected: expectedURL)
    }
    guard let name = try object.text("name") else {
      throw SettingsError.badValue(key: "name", value: "", source: object.place, expected: expectedName)
    }
    guard isName(name) else { throw object.bad("name", .string(name), expectedName) }
    var origin = OriginSettings(name: name, url: url)
    origin.others = Array(urls.dropFirst())
    origin.hosts =
      try object.texts("hosts", expecting: "a host without a port, like api.example.com or *.example.com", host) ?? []
    origin.prefixes =
      try object.texts("prefixes", expecting: "a path, like /v1/") { $0.hasPrefix("/") ? $0 : nil } ?? []
    try takeLimits(&object, into: &origin)
    try takeCaching(&object, into: &origin)
    try object.end()
    return origin
  }

  /// Reads the origin's servers: one under `url`, or several under `urls`.
  private static func urls(_ object: inout SettingsObject) throws -> [PageURL] {
    let one = try object.text("url").map { [$0] }
    let several = try object.texts("urls", expecting: expectedURL) { url($0) == nil ? nil : $0 }
    guard one == nil || several == nil else { throw object.bad("urls", .array([]), "either url or urls") }
    guard several?.count ?? 1 <= serverLimit else {
      throw object.bad("urls", .array([]), "at most \(serverLimit) URLs")
    }
    return try (one ?? several ?? []).map { text in
      guard let url = url(text) else { throw object.bad("url", .string(text), expectedURL) }
      return url
    }
  }

  private static let serverLimit = 64

  private static func takeLimits(_ object: inout SettingsObject, into origin: inout OriginSettings) throws {
    try object.take("connections", into: &origin.connections, expecting: "a number from 1 to 10000", count(1...10_000))
    try object.take("waiting", into: &origin.waiting, expecting: "a number up to 1000000", count(0...1_000_000))
    try object.take("connect-time", into: &origin.connectTime, expecting: expectedTime, time)
    // libcurl counts in whole seconds.
    try object.take("idle-time", into: &origin.idleTime, expecting: "a time of at least 1 second, like 5 or 10m") {
      time($0).flatMap { $0 >= .seconds(1) ? $0 : nil }
    }
    try object.take("share-time", into: &origin.shareTime, expecting: expectedTime, time)
    try object.take("max-answer", into: &origin.answerLimit, expecting: expectedSize, SettingText.size)
    try object.take("memory", into: &origin.memory, expecting: "a size of at least 1MB", bytes(atLeast: 1 << 20))
    try object.take("disk", into: &origin.disk, expecting: "a size of at least 1MB") {
      SettingText.size($0).flatMap { $0 >= 1 << 20 ? $0 : nil }
    }
    try object.take("ca", into: &origin.certificateAuthorities, expecting: "a path") { $0.isEmpty ? nil : .some($0) }
    try object.take("failures", into: &origin.patience.failures, expecting: "a number from 1 to 1000", count(1...1000))
    try object.take("rest", into: &origin.patience.rest, expecting: expectedTime, time)
    try object.take("longest-rest", into: &origin.patience.longestRest, expecting: expectedTime, time)
    try object.take("health-path", into: &origin.healthPath, expecting: "a path, like /healthz") {
      $0.hasPrefix("/") && !$0.contains(where: { "# ".contains($0) }) ? .some($0) : nil
    }
    try object.take("health-interval", into: &origin.healthInterval, expecting: expectedTime, time)
  }

  private static func takeCaching(_ object: inout SettingsObject, into origin: inout OriginSettings) throws {
    let forwarding = OriginSettings.Forwarding.allCases.map(\.rawValue).joined(separator: ", ")
    try object.take("forwarding", into: &origin.forwarding, expecting: "one of \(forwarding)") { .init(rawValue: $0) }
    try object.take("etag-up-to", into: &origin.tagLimit, expecting: "a size up to 16MB") {
      SettingText.size($0).flatMap { $0 <= 16 << 20 ? Int($0) : nil }
    }
    origin.codings = try object.texts("codings", expecting: "a content coding, like gzip or br") { text in
      text.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D } ? text : nil
    }
    if let targets = try object.texts("targets", expecting: "a field's name, like CDN-Cache-Control", { $0 }) {
      origin.targets = try targets.map { name in
        guard let field = HTTPField.Name(name) else { throw object.bad("targets", .string(name), "a field's name") }
        return field
      }
    }
    origin.behavior = try behavior(&object) ?? origin.behavior
    if let rules = try object.list("rules") {
      origin.rules = try rules.enumerated().map { index, value in
        try rule(SettingsObject(value, place: "\(object.place).rules[\(index)]"))
      }
    }
  }

  /// Reads a rule. The first rule whose pattern matches a URL applies.
  private static func rule(_ object: SettingsObject) throws -> ResourceRule {
    var object = object
    guard let pattern = try object.text("match") else {
      throw SettingsError.badValue(
        key: "match", value: "", source: object.place, expected: "a path where * stands for any text, like /v1/news/*")
    }
    var rule = ResourceRule(.glob(pattern))
    rule.behavior = try behavior(&object)
    try object.take("at-most", into: &rule.lifetime, expecting: expectedTime) { seconds($0).map { .atMost($0) } }
    try object.take("exactly", into: &rule.lifetime, expecting: expectedTime) { seconds($0).map { .exactly($0) } }
    try object.take("set-cookie", into: &rule.sharesCookies, expecting: "pass or store") {
      switch $0 {
      case "pass": false
      case "store": true
      default: nil
      }
    }
    try object.end()
    return rule
  }

  private static func behavior(_ object: inout SettingsObject) throws -> LoadBehavior? {
    guard let name = try object.text("behavior") else { return nil }
    guard let behavior = LoadBehavior(named: name) else {
      let names = LoadBehavior.named.map(\.name).joined(separator: ", ")
      throw object.bad("behavior", .string(name), "one of \(names)")
    }
    return behavior
  }
}

/// The descriptions of expected values.
extension OriginsFile {
  static let expectedURL = "an http or https URL without a path, like https://api.example.com"
  private static let expectedName = "a name of up to 64 lowercase letters, digits and -"
  private static let expectedTime = "a time, like 5, 250ms or 10m"
  private static let expectedSize = "a size, like 65536 or 256MB"

  /// Returns `nil` if the text is not an origin URL.
  static func url(_ text: String) -> PageURL? {
    guard let url = PageURL(text), text.hasPrefix("http"), url.text == url.origin + "/" else { return nil }
    return url
  }

  private static func isName(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D }
  }

  private static func host(_ text: String) -> String? {
    let text = text.lowercased()
    let name = text.hasPrefix("*.") ? text.dropFirst(2) : text[...]
    let isHost = !name.isEmpty && !name.contains(where: { "*/?#@ ".contains($0) })
    return isHost && (!name.contains(":") || name.hasPrefix("[") && name.hasSuffix("]")) ? text : nil
  }

  private static func time(_ text: String) -> Duration? { Duration(text: text).flatMap { $0 > .zero ? $0 : nil } }

  private static func seconds(_ text: String) -> Int64? { Duration(text: text)?.components.seconds }

  private static func count(_ range: ClosedRange<Int>) -> (String) -> Int? {
    { SettingText.count($0).flatMap { range.contains($0) ? $0 : nil } }
  }

  private static func bytes(atLeast least: Int64) -> (String) -> Int? {
    { SettingText.size($0).flatMap { $0 >= least && $0 <= 1 << 40 ? Int($0) : nil } }
  }
}
