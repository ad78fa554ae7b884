import Blobs
import Bundles
import CoreMetrics
import Foundation
import Logging
import PageKit
import PageWorkers
import Releases
import ServerKit
import ServiceLifecycle

/// Runs the pages of a folder's new release beside those of the release that is served.
struct ReleaseGate: Sendable {
  /// The inputs of a refusal: the gate looks again if one differs.
  private struct Subject: Equatable {
    let bundles, files: [Manifest.Entry]
    let base: String
    let settings: GateSettings
    let answers: FileStatus?
    let day: GateDay
  }

  private let mode: GateMode
  private let configuration: GateRunner.Configuration
  private let store: BundleStore
  private let record: HostRecord
  private let logger: Logger
  private var refused: (subject: Subject, refusal: String)?

  /// The limit of findings in the log.
  private static let linesLimit = 20

  /// - Throws: ``SettingsError/combination(_:)`` for a framework file that cannot be used.
  init(
    _ mode: GateMode, _ settings: Settings, store: BundleStore, executable: String, record: HostRecord, logger: Logger
  ) throws {
    (self.mode, self.store, self.record, self.logger) = (mode, store, record, logger)
    var host = HostConfiguration()
    try settings.configureScripts(&host)
    var configuration = GateRunner.Configuration()
    // A host without pages has no workers, but its gate has.
    if settings.workers > 0 { configuration.workers = min(configuration.workers, settings.workers) }
    configuration.executable = executable
    configuration.program = "renderhost"
    configuration.memory = settings.workerMemory
    configuration.frameworks = host.pages.scripts.frameworks
    configuration.preludes = host.pages.scripts.preludes
    configuration.environment = host.pages.device.environment
    // As for pages of clients: the log has a warning.
    configuration.acceptsUnconfined = true
    self.configuration = configuration
  }

  /// The reason why a release must not be served; `nil` if it may be.
  ///
  /// - Parameters:
  ///   - manifest: lists the folder's files.
  ///   - current: the release that is served; `nil` if there is none.
  /// - Throws: `CancellationError` if the host shuts down.
  mutating func refusal(
    of manifest: Manifest, in folder: String, beside current: ServedRelease?
  ) async throws -> String? {
    do {
      let settings = try GateSettings(in: folder)
      let answers = settings.answers.map { $0.hasPrefix("/") ? $0 : "\(folder)/\($0)" }
      let subject = Subject(
        bundles: manifest.bundles, files: manifest.files, base: manifest.base, settings: settings,
        answers: answers.flatMap { FileStatus(ofLink: "\($0)/\(RecordedAnswers.fileName)") }, day: GateDay(Date()))
      if let refused, refused.subject == subject { return refused.refusal }
      refused = nil
      let runner = GateRunner(configuration, settings, try answers.map { try RecordedAnswers(folder: $0) } ?? .init())
      guard let url = PageURL(filePath: "\(folder)/manifest.json") else {
        throw DescribedError("\(folder) cannot be written as a URL")
      }
      let release = try GateRelease(manifest, of: folder, at: url)
      let former = current.map(stored)
      var report = try await cancelWhenGracefulShutdown { try await runner.report(on: release, beside: former) }
      report.shortenPaths(below: folder)
      tell(report)
      guard mode == .fail, let refusal = report.refusal else { return nil }
      refused = (subject, refusal)
      return refusal
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      record.metrics.gate("failed").increment()
      let problem = "release \(manifest.release) cannot be looked at: \(error.message)"
      guard mode == .fail else {
        logger.warning("\(problem)")
        return nil
      }
      return problem
    }
  }

  /// The release that is served, with the contents in the store.
  private func stored(_ served: ServedRelease) -> GateRelease {
    let blobs = Dictionary(served.entries.map { ($0.bundle.url, $0.blob) }) { first, _ in first }
    return GateRelease(served.name, served.entries.map(\.bundle)) { [store] url in
      guard let blob = blobs[url] ?? nil else { throw DescribedError("\(url.readable) is not stored") }
      return try await store.bytes(of: blob).bytes
    }
  }

  private func tell(_ report: GateReport) {
    let outcome = !report.isRefused ? "passed" : mode == .fail ? "refused" : "warned"
    record.metrics.gate(outcome).increment()
    for finding in report.findings.prefix(Self.linesLimit) {
      let level: Logger.Level = finding.effect == .refused ? .warning : .notice
      logger.log(
        level: level, "gate: \(finding.line)",
        metadata: ["effect": "\(finding.effect.rawValue)", "rule": "\(finding.rule.rawValue)"])
    }
    let more = report.findings.count - Self.linesLimit
    if more > 0 { logger.notice("gate: \(more) more findings are left out") }
    logger.notice(
      "the gate has run \(report.pages.count) pages of release \(report.release) in \(report.time.inSeconds): \(outcome)"
    )
  }
}
