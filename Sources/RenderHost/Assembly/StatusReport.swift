import CoreMetrics
import Foundation
import PageKit

/// What the daemon's parts say of themselves, for the dashboard and for metrics.
struct StatusReport: Sendable {
  let source: String
  let started: Date
  /// Resident bytes that a worker may have.
  let memoryLimit: Int64
  let feed: ReleaseFeed
  let running: PageRunning

  func status() async -> HostStatus {
    var status = HostStatus(started: started)
    let workers = await running.workers.status()
    let now = ContinuousClock.now
    if let release = feed.current {
      status.release = HostStatus.Release(
        name: release.name, sequence: Int(release.stored.sequence), source: source,
        activated: Date(timeIntervalSince1970: Double(release.since.secondsSinceEpoch)))
      let barred = Dictionary(workers.barred.map { ($0.digest, "\($0)") }) { first, _ in first }
      status.bundles = release.entries.filter { $0.bundle.kind == .bundle }.map {
        Self.bundle($0, barred: barred)
      }
    }
    status.pages = await running.directory.pages.values.map { page in
      Self.page(page, opened: Date() - (now - page.opened).seconds)
    }
    status.workers = workers.workers.map { worker in
      HostStatus.Worker(
        slot: worker.id, pid: worker.pid, state: worker.state == .ready && worker.busy > 0 ? "busy" : "\(worker.state)",
        pages: worker.pages, memory: worker.residentBytes, memoryLimit: memoryLimit, kills: 0)
    }
    status.failures = workers.lastKills.reversed().map {
      HostStatus.Failure(time: Date(), kind: "worker", message: $0)
    }
    if let problem = feed.problem {
      status.failures.insert(HostStatus.Failure(time: Date(), kind: "release", message: problem), at: 0)
    }
    return status
  }

  private static func bundle(_ entry: ServedEntry, barred: [SHA256Digest: String]) -> HostStatus.Bundle {
    let reason = entry.blob.flatMap { barred[$0.sha256] }
    return HostStatus.Bundle(
      name: entry.bundle.name, url: entry.location, size: entry.blob?.size ?? entry.bundle.size ?? 0,
      state: reason != nil ? .barred : entry.blob == nil ? .missing : .ready, reason: reason)
  }

  private static func page(_ page: OpenedPage, opened: Date) -> HostStatus.Page {
    HostStatus.Page(
      id: page.id, url: page.location, phase: page.reopening == nil ? page.reply.phase : "reopened", opened: opened,
      elements: page.reply.elements, entry: page.reply.timings["evaluated"], preview: "/pages/\(page.id)/preview",
      error: page.reply.errors.first?.message)
  }

  /// Sets what is only looked at when metrics are scraped.
  func update(_ metrics: HostMetrics) async {
    let workers = await running.workers.status()
    for state in [WorkerStatus.State.starting, .ready, .ending] {
      metrics.workers(state.rawValue).set(Double(workers.workers.count { $0.state == state }))
    }
    for worker in workers.workers { metrics.workerMemory(slot: worker.id).set(Double(worker.residentBytes)) }
    metrics.pages("open").set(Double(await running.pageCounts().open))
  }
}
