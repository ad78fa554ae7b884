import DiskStorage
import Foundation
import HTTPTransport
import Logging
import PageKit

/// One value that was given, on its way into ``Settings``.
struct SettingAssignment {
  let key: SettingKey
  let value: String
  /// The flag, the variable or the file.
  let source: String
  /// The first value of a list takes the place of the default.
  var isFirst = true

  /// - Throws: ``SettingsError/badValue(key:value:source:expected:)``.
  func apply(to settings: inout Settings) throws {
    switch key {
    case .listen:
      guard let address = SettingText.address(value) else { throw bad("HOST:PORT, like 127.0.0.1:8080 or [::1]:8080") }
      (settings.address, settings.port) = address
    case .adminListen:
      guard let address = SettingText.address(value) else { throw bad("HOST:PORT, like 127.0.0.1:9090 or [::1]:9090") }
      settings.adminListen = address
    case .publicRoutes: settings.publicRoutes = try groups().union(isFirst ? [] : settings.publicRoutes)
    case .host:
      guard !value.isEmpty, value.utf8.count <= 253,
        value.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == ".") })
      else { throw bad("a host's name without a port, like pages.example.com") }
      settings.hosts = (isFirst ? [] : settings.hosts) + [value]
    case .bundles: settings.bundles = try path()
    case .manifest:
      guard let url = PageURL(value), value.hasPrefix("http") else { throw bad("an http or https URL") }
      settings.manifest = url
    case .follow: settings.follow = try duration(atLeast: .seconds(1))
    case .store: settings.store = StoreDirectory(try path())
    case .gateway:
      guard let address = SettingText.address(value) else { throw bad("HOST:PORT, like 127.0.0.1:8081 or [::1]:8081") }
      settings.gateway = address
    case .origin:
      guard let url = OriginsFile.url(value) else { throw bad(OriginsFile.expectedURL) }
      settings.origins = [OriginSettings(url: url)]
    case .workers: settings.workers = try count(in: 1...256)
    case .pageTime: settings.pageTime = try duration(atLeast: .milliseconds(10))
    case .workerMemory: settings.workerMemory = try size(atLeast: 32 << 20)
    case .maxPages: settings.pages = try count(in: 1...100_000)
    case .pageIdle: settings.pageIdle = try duration(atLeast: .seconds(1))
    case .pageQueue: settings.waitingCalls = try count(in: 0...100_000)
    case .pageWait: settings.waitingTime = try duration(atLeast: .milliseconds(10))
    case .allowOrigin: settings.allowedOrigins = (isFirst ? [] : settings.allowedOrigins) + [try origin()]
    case .framework: try assignFile(to: &settings.frameworks, like: "Vue=/srv/weex-vue-framework.js")
    case .prelude: try assignFile(to: &settings.preludes, like: "Rax=/srv/weex-rax-api.js")
    case .env:
      let pair = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard pair.count == 2, !pair[0].isEmpty else { throw bad("KEY=VALUE, like platform=android") }
      if isFirst { settings.environment = [:] }
      settings.environment[pair[0]] = pair[1]
    case .tlsCert: settings.certificate = try path()
    case .tlsKey: settings.privateKey = try path()
    case .adminToken: settings.adminToken = try secret(value)
    case .adminTokenFile: settings.adminToken = try secret(contents())
    case .insecureAdmin:
      guard let isSet = SettingText.truth(value) else { throw bad("true or false") }
      settings.allowsInsecureAdmin = isSet
    case .webhookSecret: settings.webhookSecret = try secret(value)
    case .webhookSecretFile: settings.webhookSecret = try secret(contents())
    case .maxBody: settings.limits.body = Int(try size(atLeast: 1024))
    case .maxHeader: settings.limits.header = Int(try size(atLeast: 1024, atMost: 1 << 20))
    case .maxURL: settings.limits.url = Int(try size(atLeast: 256, atMost: 64 << 10))
    case .maxConnections: settings.limits.connections = try count(in: 1...1_000_000)
    case .connectionsPerAddress: settings.limits.connectionsPerAddress = try count(in: 1...1_000_000)
    case .headTime: settings.limits.headTime = try duration(atLeast: .milliseconds(100))
    case .bodyTime: settings.limits.bodyTime = try duration(atLeast: .milliseconds(100))
    case .idleTime: settings.limits.idle = try duration(atLeast: .milliseconds(100))
    case .shutdownTime: settings.shutdownTime = try duration(atLeast: .zero)
    case .logLevel:
      guard let level = Logger.Level(rawValue: value) else {
        throw bad("one of \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      settings.logLevel = level
    case .logFormat:
      guard let format = Settings.LogFormat(rawValue: value) else { throw bad("text or json") }
      settings.logFormat = format
    }
  }

  private func assignFile(to files: inout [String: String], like example: String) throws {
    let pair = value.split(separator: "=", maxSplits: 1).map(String.init)
    guard pair.count == 2, !pair[1].isEmpty else { throw bad("TYPE=FILE, like \(example)") }
    guard BundleType(named: pair[0]) != nil else { throw bad("TYPE=FILE, with a TYPE of \(FrameworkFiles.known)") }
    if isFirst { files = [:] }
    files[pair[0]] = pair[1]
  }

  /// Names with commas between them.
  private func groups() throws -> Set<RouteGroup> {
    Set(
      try value.split(separator: ",", omittingEmptySubsequences: false).map { part in
        let name = part.trimmingCharacters(in: .whitespaces)
        guard let group = RouteGroup(rawValue: name), !group.isOpen else {
          throw bad("one or several of \(RouteGroup.guarded.list)", given: name)
        }
        return group
      })
  }

  private func bad(_ expected: String, given: String? = nil) -> SettingsError {
    .badValue(key: key.rawValue, value: key.isSecret ? "…" : given ?? value, source: source, expected: expected)
  }

  private func path() throws -> String {
    guard !value.isEmpty, !value.contains("\0") else { throw bad("a path") }
    return value
  }

  private func count(in range: ClosedRange<Int>) throws -> Int {
    guard let count = SettingText.count(value), range.contains(count) else {
      throw bad("a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return count
  }

  private func duration(atLeast least: Duration) throws -> Duration {
    guard let duration = Duration(text: value), duration >= least else {
      throw bad("a time of at least \(SettingText.text(least)) seconds, like 5, 250ms or 10m")
    }
    return duration
  }

  private func size(atLeast least: Int64, atMost most: Int64 = 1 << 40) throws -> Int64 {
    guard let size = SettingText.size(value), (least...most).contains(size) else {
      throw bad("a size from \(least) to \(most) bytes, like 65536 or 256MB")
    }
    return size
  }

  /// RFC 6454 §6.1: a scheme, a host and perhaps a port; nothing behind them.
  private func origin() throws -> String {
    let text = value.lowercased()
    guard let components = URLComponents(string: text), let scheme = components.scheme,
      ["http", "https"].contains(scheme), components.host?.isEmpty == false, components.path.isEmpty,
      components.query == nil, components.fragment == nil, components.user == nil
    else { throw bad("an origin without a path, like https://api.example.com") }
    return text
  }

  private func contents() throws -> String {
    guard let data = FileManager.default.contents(atPath: value) else {
      throw bad("a file that can be read")
    }
    return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Short secrets can be guessed.
  private func secret(_ text: String) throws -> String {
    guard text.utf8.count >= 16, text.utf8.count <= 4096 else { throw bad("16 bytes or more") }
    return text
  }
}
