import Synchronization

/// The permission to run one download. It is given back once.
final class DownloadPermit: Sendable {
  private let slot: AsyncStream<Void>.Continuation
  private let isGivenBack = Atomic<Bool>(false)

  init(_ slot: AsyncStream<Void>.Continuation) { self.slot = slot }

  func giveBack() {
    if !isGivenBack.exchange(true, ordering: .relaxed) { slot.yield() }
  }
}
