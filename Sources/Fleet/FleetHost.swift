/// The host that carries out a fleet's orders.
package protocol FleetHost: Sendable {
  /// Carries out an order. It may be carried out again after a crash.
  ///
  /// - Returns: the number of responses that were purged.
  /// - Throws: any error if it could not be carried out: it is tried again.
  func carryOut(_ task: FleetOrder.Task) async throws -> Int

  /// Counts reports of installs. They may be counted again after a crash.
  ///
  /// - Returns: ``FleetOrder/Report/release`` of those among the releases that are halted now.
  /// - Throws: any error if they could not be counted: it is tried again.
  func count(_ reports: [FleetOrder.Report]) async throws -> [String]

  /// Returns when what was carried out is on the disk.
  func settle() async throws

  /// The journal can be reached again: so may the origins, and a publisher may not have been able to announce a release.
  func reconnect()

  /// Describes this host for the others.
  func report() async -> FleetMessage.Report
}
