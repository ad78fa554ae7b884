/// Receives the events and questions of workers.
package protocol WorkerPoolDelegate: AnyObject, Sendable {
  /// An event of a page; the events of one page arrive in order.
  func receive(event name: String, _ details: [UInt8], of page: UInt64)
  /// A question of a page; the answers go to `send`, up to the last one.
  func answer(
    _ question: PageQuestion, _ payload: [UInt8], of page: UInt64,
    _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
  ) async
  /// A worker has ended with its pages.
  func workerEnded(_ pages: Set<UInt64>, culprits: Set<UInt64>, _ reason: KillReason) async
}
