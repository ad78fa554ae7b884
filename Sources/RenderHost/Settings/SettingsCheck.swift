import CacheGateway
import Foundation
import HTTPTransport
import PageKit
import PageWorkers
import ServerKit

/// Checks the combinations of settings, and the files that they name.
package enum SettingsCheck {
  /// - Throws: ``SettingsError/combination(_:)``.
  static func combinations(_ settings: Settings) throws {
    if settings.bundles != nil, settings.manifest != nil {
      throw SettingsError.combination("--bundles and --manifest exclude each other: serve a folder, or follow a server")
    }
    if settings.root != nil, settings.manifest == nil {
      throw SettingsError.combination("--root needs --manifest: the files of a folder are not signed")
    }
    if (settings.signWith == nil) != (settings.publicKey == nil) {
      throw SettingsError.combination("--sign-with and --public-key belong together: one of them is missing")
    }
    if settings.signWith != nil, settings.bundles == nil {
      throw SettingsError.combination(
        "--sign-with needs --bundles: what another server has signed is passed on as it is")
    }
    if (settings.statusSignWith == nil) != (settings.statusPublicKey == nil) {
      throw SettingsError.combination(
        "--status-sign-with and --status-public-key belong together: one of them is missing")
    }
    if settings.statusSignWith != nil, settings.signWith == nil, settings.root == nil {
      throw SettingsError.combination(
        "--status-sign-with needs a manifest whose signatures are known: --bundles with --sign-with, or --manifest with --root"
      )
    }
    if !settings.reportKeys.isEmpty, settings.bundles == nil, settings.manifest == nil {
      throw SettingsError.combination("--report-key needs --bundles or --manifest: reports are of a release")
    }
    if settings.freshFor != nil, settings.root == nil {
      throw SettingsError.combination("--fresh-for needs --root")
    }
    if settings.bundles == nil, settings.manifest == nil, settings.gateway.address == nil {
      throw SettingsError.combination(
        "there is nothing to serve: give --bundles DIR, --manifest URL, --releases LOCATION, or --gateway HOST:PORT with --origin URL"
      )
    }
    if (settings.gateway.address == nil) != settings.gateway.origins.isEmpty {
      throw SettingsError.combination(
        "--gateway and --origin (or origins in the file) belong together: one of them is missing")
    }
    if settings.fleet.servers == nil, let name = settings.fleet.named {
      throw SettingsError.combination("\(name.flag) needs --journal: only that makes the host one of a fleet")
    }
    if !settings.proxyListeners.isEmpty, settings.proxies.isEmpty {
      throw SettingsError.combination(
        "--proxy-protocol needs --trusted-proxies: a PROXY header is read from these alone")
    }
    if settings.proxyListeners.contains(.gateway), settings.gateway.address == nil {
      throw SettingsError.combination("--proxy-protocol gateway needs --gateway")
    }
    if (settings.certificate == nil) != (settings.privateKey == nil) {
      throw SettingsError.combination("--tls-cert and --tls-key belong together: one of them is missing")
    }
  }

  /// The problems of the listeners, and of the named files and folders, each as one sentence.
  package static func problems(of settings: Settings) -> [String] {
    var problems = [ListenerPlan(settings.server).refusal].compactMap(\.self)
    if let bundles = settings.bundles, !isFolder(bundles) { problems.append("--bundles: \(bundles) is not a folder") }
    do {
      _ = (try settings.trust(), try settings.signingCommand())
      _ = (try settings.statusCommand(), try settings.reportVerificationKeys())
    } catch {
      problems.append(error.sentence)
    }
    for (key, files) in [(SettingKey.framework, settings.frameworks), (.prelude, settings.preludes)] {
      for (name, file) in files.sorted(by: { $0.key < $1.key }) {
        do { _ = try FrameworkFiles.read(name, file, of: key) } catch { problems.append(error.sentence) }
      }
    }
    if let certificate = settings.certificate, let key = settings.privateKey {
      do { _ = try TLSFiles(certificate: certificate, privateKey: key).context() } catch {
        problems.append(error.sentence)
      }
    }
    for (key, file) in settings.fleet.files where !FileManager.default.isReadableFile(atPath: file) {
      problems.append("\(key.flag): \(file) cannot be read")
    }
    for origin in settings.gateway.origins {
      if let file = origin.certificateAuthorities, !FileManager.default.isReadableFile(atPath: file) {
        problems.append("the origin \(origin.name): ca: \(file) cannot be read")
      }
    }
    return problems
  }

  /// Says that the certificate has expired or is not valid yet; `nil` if it is valid, or cannot be read.
  static func certificateProblem(of settings: Settings, at now: Date) -> String? {
    guard let certificate = settings.certificate, let key = settings.privateKey else { return nil }
    return try? TLSFiles(certificate: certificate, privateKey: key).validity().problem(at: now)
  }

  /// The reason why the permitted number of pages exceeds the workers' memory; `nil` if it fits.
  static func crowding(of settings: Settings) -> String? {
    let (fitting, wanted) = (settings.fittingPages, settings.pageLimit)
    guard fitting < wanted, settings.workers > 0 else { return nil }
    return "about \(fitting) of the \(wanted) pages that may be open (--max-pages) fit the memory of "
      + "\(settings.workers) workers with \(settings.workerMemory >> 20) MiB each (--workers, --worker-memory), at "
      + "\(Placement.pageBytes >> 20) MiB a page: more are refused with 503 while these are full"
  }

  private static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
  }
}

/// The effects of this process's limits on its workers.
extension ProcessLimits {
  /// The reason why workers may not become ready; `nil` if there is none.
  var addressSpaceProblem: String? {
    addressSpace.map {
      "the address space of a process is limited to \($0 >> 20) MiB (ulimit -v), and the script engine reserves more than "
        + "it uses: remove that limit, --worker-memory bounds what workers use"
    }
  }

  /// The warnings at the start, each one sentence.
  func warnings(_ settings: Settings) -> [String] {
    let hasWorkers = settings.bundles != nil || settings.manifest != nil
    return warnings(settings.server) + (hasWorkers ? [addressSpaceProblem].compactMap(\.self) : [])
  }
}

/// The framework files and preludes that settings name.
enum FrameworkFiles {
  /// The names of the known types.
  static var known: String {
    let names = BundleType.allCases.map(\.rawValue)
    return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
  }

  /// Reads the files of types.
  ///
  /// - Parameters:
  ///   - files: paths by the names of types.
  ///   - key: the setting that names them.
  /// - Throws: ``SettingsError/combination(_:)`` for the first that cannot be used.
  static func read(_ files: [String: String], of key: SettingKey) throws -> [BundleType: String] {
    var texts: [BundleType: String] = [:]
    for (name, file) in files.sorted(by: { $0.key < $1.key }) {
      let (type, text) = try read(name, file, of: key)
      texts[type] = text
    }
    return texts
  }

  /// - Throws: ``SettingsError/combination(_:)``.
  static func read(_ name: String, _ file: String, of key: SettingKey) throws -> (BundleType, String) {
    guard let type = BundleType(named: name) else {
      throw SettingsError.combination("\(key.flag): there is no type \"\(name)\": use \(known)")
    }
    guard let data = FileManager.default.contents(atPath: file) else {
      throw SettingsError.combination("\(key.flag): the file \(file) of \(name) cannot be read")
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw SettingsError.combination("\(key.flag): the file \(file) of \(name) is not UTF-8")
    }
    return (type, text)
  }
}
