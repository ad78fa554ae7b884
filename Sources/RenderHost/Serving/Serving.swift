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
  /// Checks the source again and serves its new release, if there is one.
  let relaunch: @Sendable () async throws -> Void
  /// The services that follow the source; they run as long as the server.
  var services: [any Service]
  private let store: BundleStore
  private let routes: ServingRoutes
  private let releases: ReleaseRoutes
  private let hook: ReleaseHook?
  /// `nil` if no key for reports is set.
  private let desk: ReportDesk?
  private let publisher: ReleasePublisher
  /// Halts the release that is served, or lifts the halt. Returns the release's name.
  let setHalted: @Sendable (Bool) async throws -> String
  /// Looks for a new release, in the background.
  let look: @Sendable () -> Void

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

  /// - Parameter host: has ``source(_:)`` as its manifest, and a configuration of ``configure(_:_:)``.
  /// - Parameter fleet: gives the reports and halts of all hosts; `nil` for a host of its own.
  init(
    _ settings: Settings, host: PageHost, record: HostRecord = HostRecord(), fleet: FleetMember? = nil, logger: Logger
  ) throws {
    let feed = ReleaseFeed()
    let variants = VariantDirectory(store: settings.store.path, logger: logger)
    let representations = RepresentationStore(
      store: host.store, downloader: host.downloader, variants: variants, logger: logger)
    let deltas = DeltaStore(store: host.store, representations: representations, variants: variants)
    let publisher = try ReleasePublisher(
      host: host, feed: feed, representations: representations, deltas: deltas, record: record,
      signer: try ReleaseSigner(settings), statusSigner: try StatusSigner(settings),
      haltsOfFleet: fleet.map(Self.halts), logger: logger)
    let signal = FollowSignal()
    if let folder = settings.bundles {
      let source = try FolderSource(folder: folder, store: settings.store)
      services = [FolderWatcher(source, publisher: publisher, signal: signal, logger: logger)]
    } else {
      services = [UpstreamFollower(publisher: publisher, period: settings.follow, signal: signal)]
    }
    services.append(StoreRenewal(store: host.store, signal: signal))
    services.append(deltas)
    self.feed = feed
    store = host.store
    self.representations = representations
    relaunch = {
      try await publisher.ask()
      signal.send()
    }
    routes = ServingRoutes(
      feed: feed, representations: representations, deltas: deltas, downloader: host.downloader, store: host.store,
      metrics: record.metrics)
    releases = ReleaseRoutes(feed: feed)
    desk = try ReportDesk(settings, publisher: publisher, record: record, fleet: fleet, logger: logger)
    if let desk { services.append(desk) }
    self.publisher = publisher
    setHalted = { isHalted in
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
    look = { signal.send() }
    hook = settings.webhookSecret.map { ReleaseHook(signature: WebhookSignature(secret: $0), signal: signal) }
  }

  private static func halts(of fleet: FleetMember) -> @Sendable (SHA256Digest) async throws -> Bool {
    { try await fleet.isHalted($0.hex) }
  }

  /// The counts of a release's reports; `nil` if none are taken and nobody has halted it.
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
    routes.add(to: router)
    releases.add(to: router)
    hook?.add(to: router)
    desk?.add(to: router)
  }
}
