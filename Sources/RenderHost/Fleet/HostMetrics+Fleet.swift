import CoreMetrics
import Fleet
import ServerKit

/// The metrics of a host in a fleet.
extension HostMetrics {
  /// `renderhost_fleet_sequence`: the last order of the fleet that was carried out.
  var fleetSequence: Meter { Meter(label: "renderhost_fleet_sequence", factory: registry) }

  /// `renderhost_fleet_behind`: the orders that are known of, and not carried out yet.
  var fleetBehind: Meter { Meter(label: "renderhost_fleet_behind", factory: registry) }

  /// `renderhost_fleet_phase`: 1 for what the host is now, otherwise 0: `current`, `behind`, `cut-off`.
  func fleetPhase(_ phase: FleetPosition.Phase) -> Meter {
    Meter(label: "renderhost_fleet_phase", dimensions: [("phase", phase.rawValue)], factory: registry)
  }

  /// `renderhost_fleet_hosts`: the hosts that were heard of in the last ten minutes, with this one.
  var fleetHosts: Meter { Meter(label: "renderhost_fleet_hosts", factory: registry) }

  /// `renderhost_fleet_silence_seconds`: the time since the host that has been silent for longest was heard of.
  var fleetSilence: Meter { Meter(label: "renderhost_fleet_silence_seconds", factory: registry) }

  static let fleetDescriptions: [String: MetricDescription] = [
    "renderhost_fleet_sequence": .init(help: "The last order of the fleet that was carried out."),
    "renderhost_fleet_behind": .init(help: "Orders of the fleet that are not carried out yet."),
    "renderhost_fleet_phase": .init(help: "1 for what the host knows of the fleet's orders, otherwise 0."),
    "renderhost_fleet_hosts": .init(help: "Hosts of the fleet."),
    "renderhost_fleet_silence_seconds": .init(help: "Time since the most silent host was heard of."),
  ]

  /// Sets the metrics that are read only when they are scraped.
  func update(_ fleet: FleetStatus) {
    fleetSequence.set(Double(fleet.sequence))
    fleetBehind.set(Double(fleet.behind))
    for phase in FleetPosition.Phase.allCases { fleetPhase(phase).set(phase == fleet.phase ? 1 : 0) }
    fleetHosts.set(Double(fleet.peers.count))
    fleetSilence.set(Double(fleet.peers.map(\.silent).max() ?? 0))
  }
}
