import CoreMetrics
import Foundation
import PageKit
import PageWorkers
import ServerKit

/// The state of bundles, pages and workers for the dashboard and for metrics.
extension PageParts {
  /// Adds it to the host's status.
  func fill(_ status: inout HostStatus) async {
    let workers = await running.workers.status()
    if let release = serving.feed.current {
      status.release = HostStatus.Release(
        name: release.name, sequence: Int(release.stored.sequence),
        source: settings.bundles ?? settings.manifest?.text ?? "",
        activated: Date(timeIntervalSince1970: Double(release.since.secondsSinceEpoch)),
        verified: serving.feed.verified, reports: await serving.reportCounts(of: release),
        refused: serving.feed.refusal)
      status.bundles = await bundles(of: release, barred: workers.barred)
    }
    status.pages = await pages()
    status.workers = workers.workers.map { worker in
      HostStatus.Worker(
        slot: worker.slot, pid: worker.pid, state: worker.activity, pages: worker.pages, memory: worker.residentBytes,
        memoryLimit: settings.workerMemory, started: worker.started, kills: worker.kills)
    }
  }

  private func bundles(of release: ServedRelease, barred: [BarredBundles.Entry]) async -> [HostStatus.Bundle] {
    let reasons = Dictionary(barred.filter { $0.client == nil }.map { ($0.digest, "\($0)") }) { first, _ in first }
    let opens = await running.directory.opens
    return release.entries.filter { $0.bundle.kind == .bundle }.map { entry in
      let reason = entry.blob.flatMap { reasons[$0.sha256] }
      return HostStatus.Bundle(
        name: entry.bundle.name, url: entry.location, size: entry.blob?.size ?? entry.bundle.size ?? 0,
        compressed: entry.blob.flatMap { serving.representations.smallestSize(of: $0.sha256) }.map { Int64($0) },
        state: reason != nil ? .barred : entry.blob == nil ? .missing : .ready, reason: reason,
        opens: opens[entry.path] ?? 0)
    }
  }

  /// The open pages, the latest first.
  private func pages() async -> [HostStatus.Page] {
    let slots = await running.workers.slots()
    let now = ContinuousClock.now
    return await running.directory.pages.values.sorted { ($0.opened, $0.id) > ($1.opened, $1.id) }.map { page in
      HostStatus.Page(
        id: page.id, url: page.location, phase: page.phase, worker: slots[page.number],
        opened: Date() - (now - page.opened).seconds, elements: page.reply.elements,
        entry: page.reply.timings["evaluated"], preview: "/pages/\(page.id)/preview",
        live: "/live?page=\(page.id)",
        picture: settings.pictures ? "/pages/\(page.id)/thumbnail?of=\(page.version)" : nil,
        error: page.reply.errors.last?.message)
    }
  }

  /// The phases that the metric of pages counts.
  private static let phases = [
    "opening", PagePhase.loading.rawValue, PagePhase.evaluating.rawValue, PagePhase.live.rawValue,
    PagePhase.empty.rawValue, PagePhase.failed.rawValue, "reopened",
  ]

  /// Sets the metrics that are read only when they are scraped.
  func update(_ metrics: HostMetrics) async {
    let status = await running.workers.status()
    for state in ["starting", "ready", "busy", "ending"] {
      metrics.workers(state).set(Double(status.workers.count { $0.activity == state }))
    }
    let residents = Dictionary(status.workers.map { ($0.slot, $0.residentBytes) }) { first, _ in first }
    for slot in 1..<(status.slots + 1) {
      let meter = metrics.workerMemory(slot: slot)
      if let bytes = residents[slot] { meter.set(Double(bytes)) } else { meter.destroy() }
    }
    let calls = running.workers.admission.counts
    metrics.pageCalls("running").set(Double(calls.running))
    metrics.pageCalls("waiting").set(Double(calls.waiting))
    let (opening, open) = await running.directory.phases
    for phase in Self.phases {
      let count = phase == "opening" ? opening : open.count { $0 == phase }
      metrics.pages(phase).set(Double(count))
    }
  }
}
