import Bundles
import Fleet
import HTTPTransport
import Hummingbird
import Logging
import PageKit
import ServerKit
import ServiceLifecycle

/// The parts of serving, wired together.
struct Serving: Sendable {
  let feed: ReleaseFeed
  let representations: RepresentationStore
  let deltas: DeltaStore
  let downloader: BundleDownloader
  let store: BundleStore
  let metrics: HostMetrics
  /// The services that follow the source; they run as long as the server.
  private(set) var services: [any Service]
  /// Checks calls of the webhook; `nil` without one.
  let webhook: WebhookSignature?
  private let publisher: ReleasePublisher
  /// `nil` if no key for reports is set.
  private let desk: ReportDesk?
  /// `nil` for a host of its own.
  private let fleet: FleetMember?
  /// Reports that the source may have changed; several reports before the next check are one.
  private let reports = Broadcast<Void>(.newest(1))

  /// Returns the manifest that a host with these settings has as its source.
  ///
  /// - Throws: ``SettingsError/combination(_:)`` unless exactly one of folder and manifest is set.
  static func source(_ settings: Settings) throws -> PageURL {
    switch (settings.bundles, settings.manifest) {
    case (let folder?, nil):
      guard let url = try FolderSource(folder: folder, store: settings.store).manifest else {
        throw SettingsError.combination("the folder \(folder.quotedForMessage) cannot be written as a URL")
      }
      return url
    case (nil, let url?): return url
    default: throw SettingsError.combination("give either a folder of bundles or a manifest")
    }
  }

  /// Configures a host whose releases are served.
  ///
  /// - Throws: ``SettingsError/combination(_:)`` if the file of ``Settings/root`` is no root.
  static func configure(_ configuration: inout HostConfiguration, _ settings: Settings) throws {
    configuration.releases.trust = try settings.trust()
    configuration.releases.keepsSignatures = true
    configuration.releases.actsOnStatus = false
    configuration.storage.releaseGrace = ReleaseFeed.grace
    configuration.storage.formerReleases = DeltaStore.baseLimit
  }

  /// - Parameters:
  ///   - host: has ``source(_:)`` as its manifest, and a configuration of ``configure(_:_:)``.
  ///   - executable: the program that runs the gate's pages as `… worker`; this one by default.
  ///   - fleet: gives the reports and halts of all hosts; `nil` for a host of its own.
  init(
    _ settings: Settings, host: PageHost, record: HostRecord = HostRecord(), executable: String = "/proc/self/exe",
    fleet: FleetMember? = nil, logger: Logger
  ) throws {
    feed = ReleaseFeed()
    let variants = VariantDirectory(store: settings.store.path, logger: logger)
    representations = RepresentationStore(
      store: host.store, downloader: host.downloader, variants: variants, logger: logger)
    deltas = DeltaStore(store: host.store, representations: representations, variants: variants)
    publisher = try ReleasePublisher(
      host: host, feed: feed, representations: representations, deltas: deltas, record: record,
      signer: try ReleaseSigner(settings), statusSigner: try StatusSigner(settings),
      haltsOfFleet: fleet.map(Self.halts), logger: logger)
    (downloader, store, metrics, self.fleet) = (host.downloader, host.store, record.metrics, fleet)
    webhook = settings.webhookSecret.map { WebhookSignature(secret: $0) }
    desk = try ReportDesk(settings, publisher: publisher, record: record, fleet: fleet, logger: logger)
    if let folder = settings.bundles {
      let source = try FolderSource(folder: folder, store: settings.store)
      let gate = try settings.gate.map {
        try ReleaseGate($0, settings, store: host.store, executable: executable, record: record, logger: logger)
      }
      services = [FolderWatcher(source, publisher: publisher, gate: gate, reports: reports, logger: logger)]
    } else {
      services = [Self.follower(publisher, every: settings.follow, reports)]
    }
    // The release is restored after the store was removed or damaged.
    services.append(
      BackgroundService("store renewals") { [store, reports] in
        for await _ in store.renewals.cancelOnGracefulShutdown() { reports.send(()) }
      })
    services.append(deltas)
    if let desk { services.append(desk) }
  }

  private static func halts(of fleet: FleetMember) -> @Sendable (SHA256Digest) async throws -> Bool {
    { try await fleet.isHalted($0.hex) }
  }

  /// Follows another server's manifest: checks it at the start, then at intervals, and at every report of a change.
  private static func follower(
    _ publisher: ReleasePublisher, every period: Duration, _ reports: Broadcast<Void>
  ) -> BackgroundService {
    BackgroundService("release follower") {
      let changes = reports.listen()
      await publisher.publishStored()
      _ = await publisher.bring()
      publisher.feed.markAsked()
      await withTaskGroup(of: Void.self) { group in
        group.addTask { while (try? await Task.sleep(for: period)) != nil { reports.send(()) } }
        for await _ in changes.cancelOnGracefulShutdown() { _ = await publisher.bring() }
        group.cancelAll()
      }
    }
  }

  /// Looks for a new release, in the background.
  func look() { reports.send(()) }

  /// Checks the source again and serves its new release, if there is one.
  func relaunch() async throws {
    try await publisher.ask()
    look()
  }

  /// Halts the release that is served, or lifts the halt, in a fleet on all hosts. Returns the release's name.
  func setHalted(_ isHalted: Bool) async throws -> String {
    guard let fleet else { return try await publisher.setHalted(isHalted) }
    let release = try await publisher.checkHalt(isHalted)
    do {
      try await fleet.setHalted(
        FleetOrder.Halt(release: release.identity.hex, isHalted: isHalted), waiting: .seconds(5))
    } catch let error as JournalError {
      throw ServedError.fleetNotTold(error)
    }
    return release.name
  }

  /// The counts of a release's reports; `nil` if none are accepted and it is not halted.
  func reportCounts(of release: ServedRelease) async -> HostStatus.Release.Reports? {
    guard desk != nil || release.isHalted, let tally = try? await store.tally(of: release.identity) else {
      return nil
    }
    return .init(good: tally.good, bad: tally.bad, isHalted: release.isHalted)
  }

  // MARK: Orders of the fleet

  /// Counts the reports that installs have given to some host.
  ///
  /// - Returns: the identities of those among the releases that are halted now.
  /// - Throws: ``StoreError``.
  func count(_ reports: [FleetOrder.Report]) async throws -> [String] { try await desk?.count(reports) ?? [] }

  /// The other hosts can be reached again: releases may have been published, and halted, meanwhile.
  func reconnect() {
    publisher.halts.askFleetAgain()
    look()
  }

  /// - Throws: ``StoreError``.
  func setHalted(_ halt: FleetOrder.Halt) async throws {
    guard let release = SHA256Digest(hex: halt.release) else { return }
    try await publisher.setHalted(halt.isHalted, of: release)
  }

  func add(to router: some RouterMethods<HostRequestContext>) {
    addContents(to: router)
    addReleases(to: router)
    if let webhook { addHook(webhook, to: router) }
    desk?.add(to: router)
  }
}
