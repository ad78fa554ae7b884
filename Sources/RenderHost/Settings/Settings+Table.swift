import Blobs
import Bundles
import CacheGateway
import Foundation
import HTTPTransport
import PageKit
import PageWorkers
import ServerKit

extension SettingKey {
  static let bundles = Self("bundles")
  static let gate = Self("gate")
  static let manifest = Self("manifest")
  static let releases = Self("releases")
  static let follow = Self("follow")
  static let root = Self("root")
  static let freshFor = Self("fresh-for")
  static let signWith = Self("sign-with")
  static let publicKey = Self("public-key")
  static let signedFor = Self("signed-for")
  static let statusSignWith = Self("status-sign-with")
  static let statusPublicKey = Self("status-public-key")
  static let statusSignedFor = Self("status-signed-for")
  static let reportKey = Self("report-key")
  static let haltPercent = Self("halt-percent")
  static let haltInstalls = Self("halt-installs")
  static let store = Self("store")
  static let workers = Self("workers")
  static let pageTime = Self("page-time")
  static let workerMemory = Self("worker-memory")
  static let maxPages = Self("max-pages")
  static let pageIdle = Self("page-idle")
  static let pageQueue = Self("page-queue")
  static let pageWait = Self("page-wait")
  static let pictures = Self("pictures")
  static let inspectPages = Self("inspect-pages")
  static let allowOrigin = Self("allow-origin")
  static let framework = Self("framework")
  static let prelude = Self("prelude")
  static let env = Self("env")
  static let webhookSecret = Self("webhook-secret")
  static let webhookSecretFile = Self("webhook-secret-file")

  /// The keys of all settings, in the order of the report.
  package static let allCases = Settings.table.map(\.key)

  /// Returns `nil` if there is no such setting.
  package init?(rawValue: String) {
    guard Settings.setting(Self(rawValue)) != nil else { return nil }
    self.init(rawValue)
  }
}

extension Settings {
  /// All settings, in the order of the report.
  static let table: [Setting<Settings>] =
    listening + serving + gateway + fleet + pages + security + webhook + limiting + logging

  /// The settings by the groups that `--help` shows.
  static let groups = [serving + listening, gateway, fleet, pages, security + webhook, limiting, logging]

  static let listening: [Setting<Settings>] = ServerSettings.listening.map { $0.at(\.server) }
  static let gateway: [Setting<Settings>] = GatewaySettings.table.map { $0.at(\.gateway) }
  static let fleet: [Setting<Settings>] = FleetSettings.table.map { $0.at(\.fleet) }
  static let security: [Setting<Settings>] = ServerSettings.security.map { $0.at(\.server) }
  static let limiting: [Setting<Settings>] = ServerSettings.limiting.map { $0.at(\.server) }
  static let logging: [Setting<Settings>] = ServerSettings.logging.map { $0.at(\.server) }

  private static let rows = Dictionary(uniqueKeysWithValues: table.map { ($0.key, $0) })

  static func setting(_ key: SettingKey) -> Setting<Settings>? { rows[key] }

  static let serving: [Setting<Settings>] = [
    .path(.bundles, \.bundles, help: "The folder of bundles to serve, and to watch.", valueName: "dir"),
    Setting(
      .gate, form: .valueOr(GateMode.fail.rawValue),
      help: "Run every page of a changed folder before it is served.",
      discussion: """
        Beside the same page of the release that is served. fail, also without a value, goes on with that release if a \
        page fails; warn only tells. gate.json in the folder has budgets and exemptions.
        """, valueName: "warn|fail"
    ) {
      guard let mode = GateMode(rawValue: $0.text) else { throw $0.bad("warn or fail") }
      $1.gate = mode
    } show: {
      $0.gate?.rawValue
    },
    Setting(.manifest, help: "The manifest of another server to follow instead.", valueName: "url") { value, settings in
      guard let url = PageURL(value.text), value.text.hasPrefix("http") else {
        throw value.bad("an http or https URL")
      }
      settings.manifest = url
    } show: {
      $0.manifest?.text
    },
    Setting(
      .releases, help: "The place in an object store where releases are published, to follow instead.",
      discussion: """
        s3://BUCKET/PREFIX, as for "bundlectl publish". AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and \
        AWS_REGION have the key, which needs no right but to read; AWS_ENDPOINT_URL is the URL of a store other than \
        Amazon S3.
        """, valueName: "location"
    ) {
      guard let location = S3Location($0.text) else { throw $0.bad("a place such as s3://bucket/prefix") }
      $1.releases = location
    } show: {
      $0.releases?.description
    },
    .time(.follow, \.follow, atLeast: .seconds(1), help: "How often the other server is asked. (default: 60)"),
    .path(
      .root, \.root, help: "The root whose keys must have signed the other server's manifest.",
      discussion: "Nothing is stored, served or run that they have not signed.", valueName: "file"),
    Setting(.freshFor, help: "The longest time since that manifest was signed, such as 7d.", valueName: "seconds") {
      $1.freshFor = try $0.duration(atLeast: .seconds(1))
    } show: {
      $0.freshFor.map { SettingText.text($0) }
    },
    .text(
      .signWith, \.signWith, help: "A shell command that signs the folder's releases.",
      discussion: """
        Its input is the message. Its output is the Ed25519 signature, as 64 bytes or their base64.
        """, valueName: "command"),
    .path(.publicKey, \.publicKey, help: "PEM file of the public key of --sign-with.", valueName: "file"),
    .time(
      .signedFor, \.signedFor, atLeast: .seconds(60),
      help: "How long a release is signed for; it is signed anew in the middle. (default: 604800)"),
    .text(
      .statusSignWith, \.statusSignWith,
      help: "A shell command that signs the status beside the manifest with an online key.",
      discussion: """
        It is renewed in the middle of its time, and halts the release when too many installs report failures.
        """, valueName: "command"),
    .path(
      .statusPublicKey, \.statusPublicKey, help: "PEM file of the public key of --status-sign-with.", valueName: "file"),
    .time(
      .statusSignedFor, \.statusSignedFor, atLeast: .seconds(60),
      help: "How long a status is signed for. (default: 86400)"),
    .list(
      .reportKey, \.reportKeys,
      help: "PEM file of the public key with which the tokens of installs that report are checked; may be repeated.",
      discussion: "Without one no reports are taken.", valueName: "file"
    ) { try $0.path() },
    Setting(
      .haltPercent, help: "The share of installs with a bad release at which it is halted. (default: 5)",
      valueName: "percent"
    ) { value, settings in
      guard let percent = Double(value.text), percent > 0, percent <= 100 else {
        throw value.bad("a number above 0, and at most 100")
      }
      settings.haltBound.percent = percent
    } show: {
      SettingText.text($0.haltBound.percent)
    },
    .count(
      .haltInstalls, \.haltBound.installs, in: 1...BundleStore.countedLimit,
      help: "The least number of installs that have reported before it is halted. (default: 200)"),
    Setting(
      .store, help: "The folder of the store.", discussion: "Default: $XDG_DATA_HOME/pagekit.", valueName: "dir"
    ) {
      $1.store = StoreDirectory(try $0.path())
    } show: {
      $0.store.path
    },
  ]

  static let pages: [Setting<Settings>] = [
    .count(
      .workers, \.workers, in: 0...256,
      help:
        "The number of processes that run pages; 0 for a host without pages. A gateway alone has none. (default: one for each core)"
    ),
    .time(
      .pageTime, \.pageTime, atLeast: .milliseconds(10), help: "The time limit of one entry into a page. (default: 5)"),
    .size(
      .workerMemory, \.workerMemory, atLeast: 32 << 20,
      help: "The limit of a worker's resident memory. (default: 512MB)"),
    Setting(
      .maxPages, help: "The limit of open pages. (default: as many as fit the workers' memory, at most 200)",
      valueName: "n"
    ) {
      $1.pages = try $0.count(in: 1...100_000)
    } show: {
      "\($0.pageLimit)"
    },
    .time(
      .pageIdle, \.pageIdle, atLeast: .seconds(1), help: "The time after which an unused page is closed. (default: 300)"
    ),
    .count(
      .pageQueue, \.waitingCalls, in: 0...100_000,
      help: "The limit of requests for pages that wait for a worker; more get 503 at once. (default: 512)"),
    .time(
      .pageWait, \.waitingTime, atLeast: .milliseconds(10),
      help: "The time after which a waiting request gets 503. (default: 5)"),
    Setting(
      .pictures, form: .toggle, help: "Draw pages as PNG and SVG files, which needs libpangocairo-1.0-0.",
      discussion: "Each worker takes some 100 ms and 12 MB more at its start."
    ) {
      $1.pictures = try $0.truth()
    } show: {
      "\($0.pictures)"
    },
    Setting(
      .inspectPages, form: .toggle, help: "Let Chrome's developer tools attach to open pages, on the admin listener.",
      discussion: """
        GET /json/list, with the admin token, has the address for each page. Whoever has it can run code in the page.
        """
    ) {
      $1.inspectsPages = try $0.truth()
    } show: {
      "\($0.inspectsPages)"
    },
    .list(
      .allowOrigin, \.allowedOrigins,
      help: "An origin that pages may fetch from, besides the manifest's and their own; may be repeated.",
      valueName: "origin"
    ) { try $0.origin() },
    Setting(
      .framework, form: .list, help: "The framework file for bundles of a type; may be repeated.",
      valueName: "type=file"
    ) {
      try $0.addFile(to: &$1.frameworks, like: "Vue=/srv/weex-vue-framework.js")
    } show: {
      pairs($0.frameworks)
    },
    Setting(
      .prelude, form: .list,
      help: "A script that runs in a page before bundles of a type: weex-rax-api.js for Rax 1; may be repeated.",
      valueName: "type=file"
    ) {
      try $0.addFile(to: &$1.preludes, like: "Rax=/srv/weex-rax-api.js")
    } show: {
      pairs($0.preludes)
    },
    Setting(
      .env, form: .list,
      help: "A member of WXEnvironment, read as JSON if it is valid JSON, else as text; may be repeated.",
      valueName: "key=value"
    ) { value, settings in
      let pair = value.text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard pair.count == 2, !pair[0].isEmpty else { throw value.bad("KEY=VALUE, like platform=android") }
      if value.isFirst { settings.environment = [:] }
      settings.environment[pair[0]] = pair[1]
    } show: {
      pairs($0.environment)
    },
  ]

  static let webhook: [Setting<Settings>] = [
    Setting(
      .webhookSecret, help: "The secret that signs webhook calls, 16 bytes or more; without it there is no webhook.",
      discussion: "Prefer RENDERHOST_WEBHOOK_SECRET or a file.", valueName: "secret", isSecret: true
    ) {
      $1.webhookSecret = try $0.secret()
    } show: {
      $0.webhookSecret
    },
    Setting(.webhookSecretFile, help: "A file with the secret in it.", valueName: "file", contentOf: .webhookSecret) {
      $1.webhookSecret = try $0.secretOfFile()
    },
  ]

  private static func pairs(_ values: [String: String]) -> String? {
    values.isEmpty ? nil : values.map { "\($0)=\($1)" }.sorted().joined(separator: ", ")
  }
}

extension GivenValue {
  fileprivate func addFile(to files: inout [String: String], like example: String) throws {
    let pair = text.split(separator: "=", maxSplits: 1).map(String.init)
    guard pair.count == 2, !pair[1].isEmpty else { throw bad("TYPE=FILE, like \(example)") }
    guard BundleType(named: pair[0]) != nil else { throw bad("TYPE=FILE, with a TYPE of \(Settings.knownTypes)") }
    if isFirst { files = [:] }
    files[pair[0]] = pair[1]
  }

  /// RFC 6454 §6.1: a scheme, a host and an optional port, without a path.
  fileprivate func origin() throws -> String {
    let text = text.lowercased()
    guard let components = URLComponents(string: text), let scheme = components.scheme,
      ["http", "https"].contains(scheme), components.host?.isEmpty == false, components.path.isEmpty,
      components.query == nil, components.fragment == nil, components.user == nil
    else { throw bad("an origin without a path, like https://api.example.com") }
    return text
  }
}
