/// What a member of a fleet does its orders with.
package protocol FleetHost: Sendable {
  /// Carries out an order. It may be carried out again after a crash.
  ///
  /// - Returns: the number of responses that were purged.
  /// - Throws: any error if it could not be carried out: it is tried again.
  func carryOut(_ task: FleetOrder.Task) async throws -> Int

  /// Returns when what was carried out is on the disk.
  func settle() async throws

  /// The journal answers again, after the host was cut off: so may the origins.
  func reconnect()

  /// What the other hosts are told about this one.
  func report() async -> FleetMessage.Report
}
