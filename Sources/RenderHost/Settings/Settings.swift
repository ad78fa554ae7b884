import Blobs
import Bundles
import CacheGateway
import Foundation
import HTTPTransport
import PageKit
import PageWorkers
import Releases
import ServerKit

/// The settings of the daemon. Flags take precedence over the environment, and the environment over the file.
@dynamicMemberLookup
package struct Settings: Sendable {
  /// The folder of bundles that is served and watched; `nil` with ``manifest``.
  package var bundles: String?
  /// The gate before releases of the folder are served; `nil` for none.
  package var gate: GateMode?
  /// The manifest of another server that is followed; `nil` with ``bundles``.
  package var manifest: PageURL?
  /// The published releases that are followed: ``manifest`` is their pointer. `nil` for any other source.
  package var releases: S3Location?
  /// The object store of ``releases``.
  package private(set) var objectStore: S3Access?
  /// The interval of polling the upstream.
  package var follow: Duration = .seconds(60)
  /// The file of the root whose keys must have signed the upstream's manifests; `nil` if no signatures are asked for.
  package var root: String?
  /// The longest time since the upstream's manifest was signed; `nil` if only the end counts that it gives itself.
  package var freshFor: Duration?
  /// The shell command that signs the releases of a folder; `nil` to serve them without signatures.
  package var signWith: String?
  /// The PEM file of the public key of ``signWith``.
  package var publicKey: String?
  /// The time that releases of a folder are signed for.
  package var signedFor: Duration = .seconds(7 * 86_400)
  /// The shell command that signs the status with an online key; `nil` to serve the status as it is published.
  package var statusSignWith: String?
  /// The PEM file of the public key of ``statusSignWith``.
  package var statusPublicKey: String?
  /// The time that a status is signed for.
  package var statusSignedFor: Duration = .seconds(86_400)
  /// The PEM files of the public keys with which the tokens of installs are checked; without one no reports are taken.
  package var reportKeys: [String] = []
  /// The bound of failures at which the release is halted.
  package var haltBound = HaltBound()
  package var store: StoreDirectory = .standard()

  /// The number of processes that run pages; by default one for each core.
  package var workers = ProcessInfo.processInfo.activeProcessorCount
  /// The processor time that one entry into a page may take.
  package var pageTime: Duration = .seconds(5)
  /// The limit of a worker's resident memory in bytes.
  package var workerMemory: Int64 = 512 << 20
  /// The limit of open pages; `nil` for as many as fit the workers' memory, at most 200.
  package var pages: Int?
  /// The limit of requests for pages that wait for a worker; more are refused at once.
  package var waitingCalls = 512
  /// The longest wait of a request.
  package var waitingTime: Duration = .seconds(5)
  /// The time after which an unused page is closed.
  package var pageIdle: Duration = .seconds(300)
  /// `true` to draw pages as pictures.
  package var pictures = false
  /// `true` if browsers may attach their developer tools to open pages.
  package var inspectsPages = false
  /// Origins that pages may fetch from, besides those of the manifest and their own.
  package var allowedOrigins: [String] = []
  /// The paths of framework files by the bundle type that needs them, such as `Vue`.
  package var frameworks: [String: String] = [:]
  /// The paths of scripts that run in a page before its bundle, by the bundle's type.
  package var preludes: [String: String] = [:]
  /// The members of `WXEnvironment`: read as JSON if they are valid JSON, else as text.
  package var environment: [String: String] = [:]
  /// The secret that signs calls of the webhook; without one there is no webhook.
  package var webhookSecret: String?

  package var gateway = GatewaySettings()
  package var fleet = FleetSettings()
  private var listening = ServerSettings()

  /// The settings of its listeners. The rest of the process needs eight open files for each worker. A gateway counts as
  /// two shares, since each of its clients may need a connection to an origin and a file.
  package var server: ServerSettings {
    get {
      var server = listening
      server.reservedFiles += 8 * workers
      server.furtherShares += gateway.address == nil ? 0 : 2
      return server
    }
    set {
      listening = newValue
      (listening.reservedFiles, listening.furtherShares) = (ServerSettings().reservedFiles, 0)
    }
  }

  package subscript<Value>(dynamicMember path: WritableKeyPath<ServerSettings, Value>) -> Value {
    get { server[keyPath: path] }
    set { server[keyPath: path] = newValue }
  }

  /// The approximate number of pages that fit the workers' memory.
  var fittingPages: Int {
    Int(Int64(Double(workerMemory) * Placement.full) * Int64(workers) / Placement.pageBytes)
  }

  /// The limit of open pages.
  var pageLimit: Int { pages ?? min(200, max(1, fittingPages)) }

  package init() {}
}

extension Settings {
  /// Names the manifest of ``releases``, if there are any.
  ///
  /// - Throws: ``SettingsError/combination(_:)``.
  mutating func locateReleases(_ environment: [String: String]) throws {
    guard let releases else { return }
    guard bundles == nil, manifest == nil else {
      throw SettingsError.combination("--releases excludes --bundles and --manifest: follow one source")
    }
    do {
      let access = try S3Access(environment: environment)
      manifest = try access.folder(of: releases).resolving(ReleasePointer.fileName)
      objectStore = access
    } catch let error as DescribedError {
      throw SettingsError.combination("--releases: \(error)")
    }
  }
}

extension Settings {
  /// Sets the frameworks, the preludes and the environment of pages.
  ///
  /// - Throws: ``SettingsError`` for a file that cannot be used.
  func configureScripts(_ configuration: inout HostConfiguration) throws {
    configuration.pages.device = DefaultConfiguration(texts: environment)
    configuration.pages.scripts.frameworks = try Self.scripts(frameworks, of: .framework)
    configuration.pages.scripts.preludes = try Self.scripts(preludes, of: .prelude)
  }

  /// The keys of ``root``; `nil` if no signatures are asked for.
  ///
  /// - Throws: ``SettingsError/combination(_:)`` if the file is no root.
  func trust() throws -> ReleaseTrust? {
    guard let root else { return nil }
    return try Self.file(root, of: .root) { try ReleaseTrust(root: $0, freshFor: freshFor) }
  }

  /// The command that signs the folder's releases; `nil` if none does.
  ///
  /// - Throws: ``SettingsError/combination(_:)`` if the public key cannot be used.
  func signingCommand() throws -> SigningCommand? {
    guard let signWith, let publicKey else { return nil }
    return SigningCommand(
      signWith, key: try Self.file(publicKey, of: .publicKey) { try VerificationKey(pem: $0) })
  }

  /// The command that signs statuses; `nil` if none does.
  ///
  /// - Throws: ``SettingsError/combination(_:)`` if the public key cannot be used.
  func statusCommand() throws -> SigningCommand? {
    guard let statusSignWith, let statusPublicKey else { return nil }
    let key = try Self.file(statusPublicKey, of: .statusPublicKey) { try VerificationKey(pem: $0) }
    return SigningCommand(statusSignWith, key: key, option: SettingKey.statusSignWith.flag)
  }

  /// The keys with which the tokens of installs are checked; none if no reports are taken.
  ///
  /// - Throws: ``SettingsError/combination(_:)`` if one cannot be used.
  func reportVerificationKeys() throws -> [VerificationKey] {
    try reportKeys.map { try Self.file($0, of: .reportKey) { try VerificationKey(pem: $0) } }
  }

  /// Reads the file of a setting.
  ///
  /// - Throws: ``SettingsError/combination(_:)`` with the flag and the path.
  private static func file<Value>(
    _ path: String, of key: SettingKey, _ read: ([UInt8]) throws -> Value
  ) throws -> Value {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw SettingsError.combination("\(key.flag): the file \(path) cannot be read")
    }
    do {
      return try read(Array(data))
    } catch {
      throw SettingsError.combination("\(key.flag): \(path): \(error.message)")
    }
  }
}
