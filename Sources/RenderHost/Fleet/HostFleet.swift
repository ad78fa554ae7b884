import Blobs
import CacheGateway
import CoreMetrics
import Fleet
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging
import ServerKit
import ServiceLifecycle

extension FleetMember {
  /// - Returns: `nil` if the settings name no journal.
  /// - Throws: ``JournalError``.
  convenience init?(_ settings: Settings, logger: Logger) throws {
    guard let servers = settings.fleet.servers else { return nil }
    let host = settings.fleet.host ?? .ofThisMachine
    var configuration = Configuration(name: host, positionFile: settings.store.path + "/gateway/fleet.json")
    configuration.servesWhenCutOff = settings.fleet.whenCutOff == .serve
    self.init(
      configuration, journal: try NATSJournal(servers, fleet: settings.fleet.name, host: host), logger: logger)
  }

  /// Purges the gateways of all hosts.
  ///
  /// - Throws: ``PurgeError``, with 503 if the journal does not accept the order.
  func purge(_ order: PurgeOrder, _ local: GatewayPurge) async throws -> PurgeAnswer {
    try local.check(order)
    if order.isLocal { return PurgeAnswer(purged: try await local(order)) }
    do {
      let receipt = try await give(.purge(order.json), waiting: order.wait)
      return PurgeAnswer(purged: receipt.purged, confirmed: receipt.confirmed, missing: receipt.missing)
    } catch let error as JournalError {
      throw PurgeError(
        "the fleet is not told: \(error); \"local\": true purges this host alone", status: .serviceUnavailable)
    }
  }
}

extension FleetMember {
  /// Carries out the orders of the fleet, for as long as the host runs.
  func service(_ host: FleetHost) -> BackgroundService {
    BackgroundService("fleet") { await cancelWhenGracefulShutdown { await self.run(host) } }
  }
}

extension FleetHost {
  /// - Parameter hits: returns the share of the gateway's answers that came from its cache.
  init(
    gateway: Gateway?, purge: GatewayPurge?, serving: Serving?, hits: @escaping @Sendable () -> Double?, logger: Logger
  ) {
    self.init { task in
      switch task {
      case .purge(let json):
        guard let purge else { return 0 }
        do {
          return try await purge(PurgeOrder(json))
        } catch let error as PurgeError {
          // Another host has other origins, or another version.
          logger.notice("An order of the fleet is not for this host", metadata: ["reason": "\(error)"])
          return 0
        }
      case .release: serving?.look()
      // A host of the version before has given it.
      case .report(let report): _ = try await serving?.count([report])
      case .halt(let halt): try await serving?.setHalted(halt)
      case .unknown: break
      }
      return 0
    } count: { reports in
      try await serving?.count(reports) ?? []
    } synchronize: {
      try await gateway?.settle()
    } reconnect: {
      gateway?.forgetFailures()
      serving?.reconnect()
    } report: {
      let release = serving?.feed.current
      return FleetMessage.Report(release: release?.name, isHalted: release?.isHalted, hits: hits())
    }
  }
}

/// The metrics of a host in a fleet. `renderhost_fleet_phase` is 1 for what the host is now, otherwise 0: `current`,
/// `behind`, `cut-off`.
extension HostMetrics {
  static let fleetDescriptions: [String: MetricDescription] = [
    "renderhost_fleet_sequence": .init(help: "The last order of the fleet that was carried out."),
    "renderhost_fleet_behind": .init(help: "Orders of the fleet that are not carried out yet."),
    "renderhost_fleet_phase": .init(help: "1 for what the host knows of the fleet's orders, otherwise 0."),
    "renderhost_fleet_hosts": .init(help: "Hosts of the fleet."),
    "renderhost_fleet_silence_seconds": .init(help: "Time since the most silent host was heard of."),
  ]

  /// Sets the metrics that are read only when they are scraped.
  func update(_ fleet: FleetStatus) {
    func set(_ name: String, labels: [(String, String)] = [], to value: some BinaryInteger) {
      Meter(label: "renderhost_fleet_\(name)", dimensions: labels, factory: registry).set(Double(value))
    }
    set("sequence", to: fleet.sequence)
    set("behind", to: fleet.behind)
    for phase in FleetPosition.Phase.allCases {
      set("phase", labels: [("phase", phase.rawValue)], to: phase == fleet.phase ? 1 : 0)
    }
    set("hosts", to: fleet.peers.count)
    set("silence_seconds", to: fleet.peers.map(\.silent).max() ?? 0)
  }
}
