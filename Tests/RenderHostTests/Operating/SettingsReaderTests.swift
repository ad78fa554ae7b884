import Foundation
import PageTesting
import Testing

@testable import RenderHost
@testable import ServerKit

struct SettingsReaderTests {
  struct Layers: Sendable, CustomTestStringConvertible {
    var flag: String?
    var variable: String?
    var file: String?
    let expected: Int
    let source: String
    var testDescription: String { source }
  }

  @Test(
    "a flag wins over the variable, and the variable over the file",
    arguments: [
      Layers(flag: "3", variable: "4", file: "5", expected: 3, source: "--workers"),
      Layers(flag: "3", expected: 3, source: "--workers"),
      Layers(flag: "3", file: "5", expected: 3, source: "--workers"),
      Layers(variable: "4", file: "5", expected: 4, source: "RENDERHOST_WORKERS"),
      Layers(variable: "4", expected: 4, source: "RENDERHOST_WORKERS"),
      Layers(file: "5", expected: 5, source: "config.json"),
    ])
  func precedence(_ layers: Layers) throws {
    let folder = try TemporaryDirectory()
    let file = folder.file("config.json")
    try Data("{\(layers.file.map { "\"workers\": \($0)" } ?? "")}".utf8).write(to: URL(fileURLWithPath: file))
    var flags: [SettingKey: [String]] = [.bundles: ["b"]]
    if let flag = layers.flag { flags[.workers] = [flag] }
    let environment = layers.variable.map { ["RENDERHOST_WORKERS": $0] } ?? [:]
    let merged = try SettingsReader(flags: flags, environment: environment, file: file).merged()
    #expect(merged.settings.workers == layers.expected)
    #expect(merged.sources[.workers].map { URL(fileURLWithPath: $0).lastPathComponent } == layers.source)
  }

  @Test("every setting is read from the file")
  func file() throws {
    let folder = try TemporaryDirectory()
    let file = folder.file("c.json")
    try Data(
      """
      {"listen": "[::1]:0", "admin-listen": "127.0.0.1:9090", "public": ["pages", "metrics"], "insecure-admin": true,
       "manifest": "https://a.example/m.json", "follow": 2.5, "store": "/s", "workers": 3,
       "page-time": "250ms", "worker-memory": "512MB", "max-pages": 7, "page-idle": "10m",
       "allow-origin": ["https://a.example", "http://b.example:81"], "framework": {"Vue": "/v.js", "Rax": "/r.js"},
       "prelude": {"Rax": "/p.js"}, "env": {"platform": "android", "scale": 3},
       "tls-cert": "/c", "tls-key": "/k", "admin-token": "0123456789abcdef", "webhook-secret": "fedcba9876543210",
       "max-body": "2MB", "max-header": 2048, "max-url": 1024, "max-connections": 9, "connections-per-address": 8,
       "head-time": 1, "body-time": 2, "idle-time": 3, "shutdown-time": 0, "log-level": "debug", "log-format": "json"}
      """.utf8
    ).write(to: URL(fileURLWithPath: file))
    let merged = try SettingsReader(flags: [:], environment: [:], file: file).merged()
    let settings = merged.settings
    #expect(settings.address == "::1" && settings.port == 0)
    #expect(settings.adminListen?.host == "127.0.0.1" && settings.adminListen?.port == 9090)
    #expect(settings.publicRoutes == [.pages, .metrics] && settings.allowsInsecureAdmin)
    #expect(settings.manifest?.text == "https://a.example/m.json")
    #expect(settings.follow == .milliseconds(2500) && settings.pageTime == .milliseconds(250))
    #expect(settings.store.path == "/s" && settings.workers == 3 && settings.workerMemory == 512 << 20)
    #expect(settings.pages == 7 && settings.pageIdle == .seconds(600))
    #expect(settings.allowedOrigins == ["https://a.example", "http://b.example:81"])
    #expect(settings.frameworks == ["Vue": "/v.js", "Rax": "/r.js"])
    #expect(settings.preludes == ["Rax": "/p.js"])
    #expect(settings.environment == ["platform": "android", "scale": "3"])
    #expect(settings.adminTokens == ["0123456789abcdef"] && settings.webhookSecret == "fedcba9876543210")
    #expect(settings.limits.body == 2 << 20 && settings.limits.header == 2048 && settings.limits.url == 1024)
    #expect(settings.limits.connections == 9 && settings.limits.connectionsPerAddress == 8)
    #expect(settings.limits.headTime == .seconds(1) && settings.limits.bodyTime == .seconds(2))
    #expect(settings.limits.idle == .seconds(3) && settings.shutdownTime == .zero)
    #expect(settings.logLevels.log == .debug && settings.logFormat == .json)
    #expect(Set(merged.sources.values) == [file])
  }

  @Test("a list replaces the list of a lower layer")
  func listLayers() throws {
    let merged = try SettingsReader(
      flags: [.bundles: ["b"], .framework: ["Vue=/a.js", "Rax=/b.js"]],
      environment: ["RENDERHOST_ALLOW_ORIGIN": "https://a.example, https://b.example"], file: nil
    ).merged()
    #expect(merged.settings.allowedOrigins == ["https://a.example", "https://b.example"])
    #expect(merged.settings.frameworks == ["Vue": "/a.js", "Rax": "/b.js"])
  }

  @Test(
    "public routes are named with commas or by repetition",
    arguments: [
      (["pages"], [.pages]), (["pages,metrics"], [.pages, .metrics]),
      (["pages , status", "admin"], [.pages, .status, .admin]),
      (["metrics", "metrics"], [.metrics]),
    ] as [([String], Set<RouteGroup>)])
  func publicRoutes(_ given: [String], _ expected: Set<RouteGroup>) throws {
    let variable = ["RENDERHOST_PUBLIC": given.joined(separator: ",")]
    for (flags, environment) in [([.publicRoutes: given], [:]), ([:], variable)]
      as [([SettingKey: [String]], [String: String])]
    {
      let flags = flags.merging([.bundles: ["b"]]) { first, _ in first }
      let merged = try SettingsReader(flags: flags, environment: environment, file: nil).merged()
      #expect(merged.settings.publicRoutes == expected)
    }
  }

  @Test("unknown routes are refused with a list of the known ones")
  func unknownRoutes() throws {
    let error = #expect(throws: SettingsError.self) {
      try SettingsReader(flags: [.publicRoutes: ["pages,statuss"]], environment: [:], file: nil).merged()
    }
    #expect(
      error?.description
        == #"--public: public is "statuss", expected one or several of pages, dashboard, status, metrics and admin"#)
  }

  @Test("a toggle is true or false", arguments: [("true", true), ("1", true), ("false", false), ("0", false)])
  func toggles(_ text: String, _ isSet: Bool) throws {
    let merged = try SettingsReader(
      flags: [.bundles: ["b"]], environment: ["RENDERHOST_INSECURE_ADMIN": text], file: nil
    ).merged()
    #expect(merged.settings.allowsInsecureAdmin == isSet)
  }

  @Test(
    "an invalid value is named with its key and source",
    arguments: [
      ("workers", "257"), ("workers", "many"), ("page-time", "soon"), ("page-time", "-1"), ("worker-memory", "1MB"),
      ("worker-memory", "big"), ("max-pages", "1.5"), ("listen", "8080"), ("listen", "::1:80"), ("listen", "h:99999"),
      ("manifest", "ftp://a.example/m"), ("allow-origin", "https://a.example/path"), ("allow-origin", "a.example"),
      ("admin-listen", "9090"), ("public", "page"), ("public", "bundles"), ("insecure-admin", "yes"),
      ("framework", "Vue"), ("prelude", "Rax"), ("env", "=3"), ("env", "scale"),
      ("log-level", "loud"), ("log-format", "xml"), ("max-header", "9MB"),
      ("admin-token", "short"), ("admin-token-file", "/nowhere/token"), ("follow", "0.2"), ("bundles", ""),
    ])
  func badValues(_ key: String, _ value: String) throws {
    let setting = try #require(SettingKey(rawValue: key))
    let reader = SettingsReader(flags: [:], environment: [setting.variable: value], file: nil)
    let error = #expect(throws: SettingsError.self) { try reader.merged() }
    let text = try #require(error?.description)
    #expect(text.contains(setting.variable) && text.contains(key) && text.contains("expected"))
    #expect(text.contains(Settings.setting(setting)?.isSecret == true ? "…" : "\"\(value)\""))
  }

  @Test(
    "an invalid file is an error that names the place",
    arguments: [
      (#"{"wrokers": 3}"#, "wrokers"), (#"{"workers": [1, 2]}"#, "list"), (#"[1]"#, "object"), ("{", "object"),
      (#"{"workers": ["1", "2"]}"#, "one value"),
      (#"{"workers": true}"#, "a number"), (#"{"insecure-admin": null}"#, "true or false"),
      (#"{"insecure-admin": [true]}"#, "not a text"),
    ])
  func fileForm(_ text: String, _ named: String) throws {
    let error = #expect(throws: SettingsError.self) {
      try SettingsFile(Data(text.utf8), path: "/etc/c.json")
    }
    let description = try #require(error?.description)
    #expect(description.contains("/etc/c.json") && description.contains(named))
  }

  @Test(
    "conflicting settings are an error",
    arguments: [
      ([:], "nothing to serve"), ([.bundles: ["b"], .manifest: ["https://a.example/m"]], "exclude"),
      ([.bundles: ["b"], .tlsCert: ["c"]], "--tls-key"),
      ([.bundles: ["b"], .adminToken: ["0123456789abcdef"], .adminTokenFile: ["f"]], "one of them"),
    ] as [([SettingKey: [String]], String)])
  func combinations(_ flags: [SettingKey: [String]], _ named: String) throws {
    let error = #expect(throws: SettingsError.self) {
      try SettingsReader(flags: flags, environment: [:], file: nil).merged()
    }
    #expect(error?.description.contains(named) == true)
  }

  @Test("a secret of a higher layer wins over a secret file of a lower one")
  func secretLayers() throws {
    let merged = try SettingsReader(
      flags: [.bundles: ["b"], .adminToken: ["0123456789abcdef"]],
      environment: ["RENDERHOST_ADMIN_TOKEN_FILE": "/nowhere"], file: nil
    ).merged()
    #expect(merged.settings.adminTokens == ["0123456789abcdef"])
  }

  @Test("secrets are masked in the report")
  func maskedSecrets() throws {
    let merged = try SettingsReader(
      flags: [.bundles: ["b"]], environment: ["RENDERHOST_ADMIN_TOKEN": "0123456789abcdef"], file: nil
    ).merged()
    let report = SettingsReport(merged.settings, sources: merged.sources)
    #expect(!report.text.contains("0123456789abcdef"))
    let line = try #require(report.lines.first { $0.key == "admin-token" })
    #expect(line == .init(key: "admin-token", value: "********", source: "RENDERHOST_ADMIN_TOKEN"))
    #expect(report.lines.contains { $0.key == "workers" && $0.source == "default" })
  }

  @Test(
    "durations are read with and without units",
    arguments: [
      ("5", 5000), ("2.5", 2500), ("250ms", 250), ("5s", 5000), ("10m", 600_000), ("1h", 3_600_000),
      ("30d", 2_592_000_000),
      ("0", 0),
      ("", nil), ("s", nil), ("-5", nil), ("5w", nil), ("1e3", nil), ("nan", nil), (".5", nil), ("99999999999", nil),
    ] as [(String, Int?)])
  func durations(_ text: String, _ milliseconds: Int?) {
    #expect(Duration(text: text) == milliseconds.map { .milliseconds($0) })
  }

  @Test(
    "sizes are read with and without units",
    arguments: [
      ("65536", 65536), ("256MB", 256 << 20), ("1.5GiB", 3 << 29), ("4k", 4096), ("7b", 7), ("MB", nil), ("-1", nil),
      ("1e9", nil), ("99999999999999999999", nil),
    ] as [(String, Int64?)])
  func sizes(_ text: String, _ bytes: Int64?) {
    #expect(SettingText.size(text) == bytes)
  }
}
