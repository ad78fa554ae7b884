import Fleet
import ServerKit

/// The settings of a host that belongs to a fleet.
package struct FleetSettings: Sendable {
  /// The servers of the journal; `nil` for a host of its own.
  package var servers: NATSServers? { NATSServers(urls, credentials: credentials, authorities: authorities) }
  fileprivate var urls: [String] = []
  fileprivate var credentials: String?
  fileprivate var authorities: String?
  package var name = FleetSettings.standardName
  /// The host's name in the fleet; `nil` for the machine's.
  package var host: FleetName?
  package var whenCutOff = WhenCutOff.revalidate

  /// The use of stored responses while the journal does not answer.
  package enum WhenCutOff: String, Sendable, CaseIterable {
    case serve, revalidate
  }

  private static let standardName = FleetName("pagekit") ?? .ofThisMachine

  package init() {}

  /// A setting that has an effect in a fleet only, and was given.
  var named: SettingKey? {
    if host != nil { return .fleetHost }
    if credentials != nil { return .journalCredentials }
    return authorities == nil ? nil : .journalCA
  }

  /// The files that are named.
  var files: [(key: SettingKey, file: String)] {
    [(SettingKey.journalCredentials, credentials), (.journalCA, authorities)].compactMap { key, file in
      file.map { (key, $0) }
    }
  }
}

extension SettingKey {
  static let journal = Self("journal")
  static let journalCredentials = Self("journal-credentials")
  static let journalCA = Self("journal-ca")
  static let fleet = Self("fleet")
  static let fleetHost = Self("fleet-host")
  static let whenCutOff = Self("when-cut-off")
}

extension FleetSettings {
  /// The rows of the table of settings for a fleet.
  static let table: [Setting<FleetSettings>] = [
    Setting(
      .journal, form: .list,
      help: "A NATS server with the journal of the fleet that this host belongs to; may be repeated.",
      discussion: """
        nats://HOST:PORT, or tls://HOST:PORT, also with USER:PASSWORD@ or TOKEN@ before the host; prefer \
        RENDERHOST_JOURNAL then. The servers need JetStream. With three or more, each order is on three of them before \
        it counts.
        """, valueName: "url"
    ) { value, settings in
      guard NATSServers([value.text]) != nil else { throw value.bad(NATSServers.expected, given: "…") }
      settings.urls = (value.isFirst ? [] : settings.urls) + [value.text]
      guard settings.urls.count <= NATSServers.limit else { throw value.bad("at most \(NATSServers.limit) servers") }
    } show: {
      $0.servers?.places.joined(separator: ", ")
    },
    .path(
      .journalCredentials, \.credentials,
      help: "A file with the credentials of the journal's user, as nsc writes them.", valueName: "file"),
    .path(.journalCA, \.authorities, help: "PEM file of the authorities to trust for tls://.", valueName: "file"),
    Setting(.fleet, help: "The name of the fleet. (default: pagekit)", valueName: "name") {
      $1.name = try $0.fleetName()
    } show: {
      $0.name.text
    },
    Setting(
      .fleetHost, help: "The name of this host in the fleet, unlike any other's. (default: the machine's)",
      valueName: "name"
    ) {
      $1.host = try $0.fleetName()
    } show: {
      $0.host?.text
    },
    Setting(
      .whenCutOff, help: "What becomes of stored responses while the journal is away: serve or revalidate.",
      discussion: """
        "revalidate", the default, asks the origin about everything that is older than 5 seconds, and answers with what \
        is stored only if the origin is away as well. "serve" answers as usual, and may miss purges for as long.
        """, valueName: "way"
    ) { value, settings in
      guard let way = WhenCutOff(rawValue: value.text) else { throw value.bad("serve or revalidate") }
      settings.whenCutOff = way
    } show: {
      $0.whenCutOff.rawValue
    },
  ]
}

extension GivenValue {
  fileprivate func fleetName() throws -> FleetName {
    guard let name = FleetName(text) else { throw bad(FleetName.expected) }
    return name
  }
}
