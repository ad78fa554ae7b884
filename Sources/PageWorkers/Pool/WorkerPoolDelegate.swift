/// Hears of what happens in workers.
package protocol WorkerPoolDelegate: AnyObject, Sendable {
  /// In the order of each page.
  func receive(event name: String, _ details: [UInt8], of page: UInt64)
  /// A page asks; answers go to `send`, the last one ends it.
  func answer(
    _ question: PageQuestion, _ payload: [UInt8], of page: UInt64,
    _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async
  /// A worker has gone, and with it the pages that ran there.
  func workerEnded(_ pages: Set<UInt64>, culprits: Set<UInt64>, _ reason: KillReason) async
}
