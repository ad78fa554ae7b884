import CacheGateway
import Foundation
import HTTPTransport
import PageKit
import PageWorkers
import ServerKit

/// Checks of the combinations of settings, and of the files that they name.
extension Settings {
  /// - Throws: ``SettingsError/combination(_:)``.
  func checkCombinations() throws {
    let faults: [(isFault: Bool, text: String)] = [
      (
        bundles != nil && manifest != nil,
        "--bundles and --manifest exclude each other: serve a folder, or follow a server"
      ),
      (
        gate != nil && bundles == nil,
        "--gate needs --bundles: what another server publishes is looked at before it does (bundlectl publish --gate)"
      ),
      (root != nil && manifest == nil, "--root needs --manifest: the files of a folder are not signed"),
      ((signWith == nil) != (publicKey == nil), "--sign-with and --public-key belong together: one of them is missing"),
      (
        signWith != nil && bundles == nil,
        "--sign-with needs --bundles: what another server has signed is passed on as it is"
      ),
      (
        (statusSignWith == nil) != (statusPublicKey == nil),
        "--status-sign-with and --status-public-key belong together: one of them is missing"
      ),
      (
        statusSignWith != nil && signWith == nil && root == nil,
        "--status-sign-with needs a manifest whose signatures are known: --bundles with --sign-with, or --manifest with --root"
      ),
      (
        !reportKeys.isEmpty && bundles == nil && manifest == nil,
        "--report-key needs --bundles or --manifest: reports are of a release"
      ),
      (freshFor != nil && root == nil, "--fresh-for needs --root"),
      (
        bundles == nil && manifest == nil && gateway.address == nil,
        "there is nothing to serve: give --bundles DIR, --manifest URL, --releases LOCATION, or --gateway HOST:PORT with --origin URL"
      ),
      (
        (gateway.address == nil) != gateway.origins.isEmpty,
        "--gateway and --origin (or origins in the file) belong together: one of them is missing"
      ),
      (
        fleet.servers == nil && fleet.named != nil,
        "\(fleet.named?.flag ?? "") needs --journal: only that makes the host one of a fleet"
      ),
      (
        !server.proxyListeners.isEmpty && server.proxies.isEmpty,
        "--proxy-protocol needs --trusted-proxies: a PROXY header is read from these alone"
      ),
      (
        inspectsPages && server.adminTokens.isEmpty,
        "--inspect-pages needs an admin token, without which nothing is inspected: give one (--admin-token-file)"
      ),
      (server.proxyListeners.contains(.gateway) && gateway.address == nil, "--proxy-protocol gateway needs --gateway"),
      (
        (server.certificate == nil) != (server.privateKey == nil),
        "--tls-cert and --tls-key belong together: one of them is missing"
      ),
    ]
    if let fault = faults.first(where: \.isFault) { throw SettingsError.combination(fault.text) }
  }

  /// The problems of the listeners, and of the named files and folders, each as one sentence.
  package var problems: [String] {
    var problems = [ListenerPlan(server).refusal].compactMap(\.self)
    if let bundles, !Self.isFolder(bundles) { problems.append("--bundles: \(bundles) is not a folder") }
    do {
      _ = (try trust(), try signingCommand())
      _ = (try statusCommand(), try reportVerificationKeys())
    } catch {
      problems.append(error.sentence)
    }
    for (key, files) in [(SettingKey.framework, frameworks), (.prelude, preludes)] {
      for (name, file) in files.sorted(by: { $0.key < $1.key }) {
        do { _ = try Self.script(name, file, of: key) } catch { problems.append(error.sentence) }
      }
    }
    if let certificate = server.certificate, let key = server.privateKey {
      do { _ = try TLSFiles(certificate: certificate, privateKey: key).context() } catch {
        problems.append(error.sentence)
      }
    }
    for (key, file) in fleet.files where !FileManager.default.isReadableFile(atPath: file) {
      problems.append("\(key.flag): \(file) cannot be read")
    }
    for origin in gateway.origins {
      if let file = origin.certificateAuthorities, !FileManager.default.isReadableFile(atPath: file) {
        problems.append("the origin \(origin.name): ca: \(file) cannot be read")
      }
    }
    return problems
  }

  /// Says that the certificate has expired or is not valid yet; `nil` if it is valid, or cannot be read.
  func certificateProblem(at now: Date) -> String? {
    guard let certificate = server.certificate, let key = server.privateKey else { return nil }
    return try? TLSFiles(certificate: certificate, privateKey: key).validity().problem(at: now)
  }

  /// The reason why the permitted number of pages exceeds the workers' memory; `nil` if it fits.
  var crowding: String? {
    let (fitting, wanted) = (fittingPages, pageLimit)
    guard fitting < wanted, workers > 0 else { return nil }
    return "about \(fitting) of the \(wanted) pages that may be open (--max-pages) fit the memory of "
      + "\(workers) workers with \(workerMemory >> 20) MiB each (--workers, --worker-memory), at "
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

/// The framework files and preludes.
extension Settings {
  /// The names of the known types of bundles, for messages.
  static var knownTypes: String {
    let names = BundleType.allCases.map(\.rawValue)
    return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
  }

  /// Reads the files of types of bundles.
  ///
  /// - Parameters:
  ///   - files: paths by the names of types.
  ///   - key: the setting that names them.
  /// - Throws: ``SettingsError/combination(_:)`` for the first that cannot be used.
  static func scripts(_ files: [String: String], of key: SettingKey) throws -> [BundleType: String] {
    var texts: [BundleType: String] = [:]
    for (name, file) in files.sorted(by: { $0.key < $1.key }) {
      let (type, text) = try script(name, file, of: key)
      texts[type] = text
    }
    return texts
  }

  /// - Throws: ``SettingsError/combination(_:)``.
  private static func script(_ name: String, _ file: String, of key: SettingKey) throws -> (BundleType, String) {
    guard let type = BundleType(named: name) else {
      throw SettingsError.combination("\(key.flag): there is no type \"\(name)\": use \(knownTypes)")
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
