import ArgumentParser
import Blobs
import CLinux
import CacheGateway
import Foundation
import HTTPTransport
import Logging
import NIOCore
import PageWorkers
import ServerKit

/// `renderhost`.
package struct HostCommand: AsyncParsableCommand {
  package static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: "renderhost",
      abstract:
        "Serves JavaScript bundles, runs their pages in processes of their own, and is a shared cache in front of "
        + "the APIs they call.",
      usage: """
        renderhost --bundles <dir> [--store <dir>] [--listen <host:port>] [<options>]
        renderhost --manifest <url> [--store <dir>] [--listen <host:port>] [<options>]
        renderhost --releases <location> [--store <dir>] [--listen <host:port>] [<options>]
        renderhost --gateway <host:port> --origin <url> [--store <dir>] [<options>]
        """,
      discussion: """
        Each option is also a variable (--page-time is RENDERHOST_PAGE_TIME; lists have commas) and a key of the \
        --config file ("page-time"; lists are arrays). A flag wins over the variable, the variable over the file.

        Seconds may be decimals or have a unit: 5, 2.5, 250ms, 10m, 1h, 30d. Sizes have powers of 1024: 65536, 256MB, 1GB.

        Examples:
          renderhost --bundles dist --store store --listen 127.0.0.1:8080
          renderhost --manifest https://pages.example.com/manifest.json --follow 30 \\
            --listen 0.0.0.0:8443 --tls-cert chain.pem --tls-key key.pem \\
            --admin-listen 127.0.0.1:9090
          renderhost --gateway 127.0.0.1:8081 --origin https://api.example.com \\
            --store /var/lib/renderhost
          renderhost --config /etc/renderhost/config.json --check-config

        Signals: SIGHUP reads the certificate, the origins, the tokens and the log's levels again, all or nothing, and \
        begins a new launch; SIGTERM and SIGINT let requests under way end.

        Exit status: 0 when stopped or when the settings are valid, 1 for an error, 64 for wrong usage.
        """,
      version: "renderhost \(HostVersion.text)")
  }

  @OptionGroup(title: "Serving") var serving: ServingFlags
  @OptionGroup(title: "Gateway") var gateway: GatewayFlags
  @OptionGroup(title: "Fleet") var fleet: FleetFlags
  @OptionGroup(title: "Pages") var pages: PageFlags
  @OptionGroup(title: "Security") var security: SecurityFlags
  @OptionGroup(title: "Limits") var limits: LimitFlags
  @OptionGroup(title: "Logs") var logs: LogFlags

  @Option(help: ArgumentHelp("A JSON file of settings. (or RENDERHOST_CONFIG)", valueName: "file"))
  var config: String?

  @Flag(help: "Print the settings, where each came from, and the problems with them.")
  var checkConfig = false

  package init() {}

  var given: [SettingKey: [String]] {
    let groups: [any FlagOptions] = [serving, gateway, fleet, pages, security, limits, logs]
    return groups.reduce(into: [:]) { $0.merge($1.given) { first, _ in first } }
  }

  package func run() async throws {
    let merged = try merged()
    if checkConfig { return try check(merged) }
    LogLevels.shared.bootstrap(merged.settings.server)
    let logger = Logger(label: "renderhost")
    for variable in merged.unknownVariables {
      logger.warning("\(variable) is set, but is not the variable of any setting")
    }
    for warning in warnings(merged.settings) { logger.warning("\(warning)") }
    do {
      if let problem = ProcessLimits.current.problem { throw SettingsError.combination(problem) }
      if let problem = SettingsCheck.problems(of: merged.settings).first { throw SettingsError.combination(problem) }
      try await RenderHostParts(merged.settings, logger: logger).run(sources: merged.sources, reread: reader.merged)
    } catch {
      logger.critical("\(error.sentence)\(Self.option(for: error))")
      throw ExitCode.failure
    }
  }

  /// The end of a message that asks for another folder: the option that names it.
  private static func option(for error: any Error) -> String {
    switch error {
    case StoreError.newerVersion, StoreError.foreignDatabase: " with --store"
    default: ""
    }
  }

  private func warnings(_ settings: Settings) -> [String] {
    // A certificate that has expired keeps nothing down that need not be: some clients do not check it.
    ProcessLimits.current.warnings(settings) + ListenerPlan(settings.server).warnings
      + [SettingsCheck.certificateProblem(of: settings, at: Date())].compactMap(\.self)
  }

  private var reader: SettingsReader {
    let environment = ProcessInfo.processInfo.environment
    return SettingsReader(flags: given, environment: environment, file: config ?? environment["RENDERHOST_CONFIG"])
  }

  private func merged() throws -> SettingsReader.Merged {
    do {
      return try reader.merged()
    } catch {
      Self.say("renderhost: \(error.sentence)")
      throw ExitCode.failure
    }
  }

  private func check(_ merged: SettingsReader.Merged) throws {
    print(SettingsReport(merged.settings, sources: merged.sources).text)
    for variable in merged.unknownVariables {
      Self.say("renderhost: \(variable) is set, but is not the variable of any setting")
    }
    let limits = ProcessLimits.current
    for warning in warnings(merged.settings) { Self.say("renderhost: \(warning)") }
    let problems = [limits.problem].compactMap(\.self) + SettingsCheck.problems(of: merged.settings)
    for problem in problems { Self.say("renderhost: \(problem)") }
    if !problems.isEmpty { throw ExitCode.failure }
  }

  private static func say(_ line: String) { FileHandle.standardError.write(Data((line + "\n").utf8)) }
}

// MARK: - Flags

/// The flags of a group of settings, made from their rows in the table. Their values stay texts: the settings' reader
/// parses them together with those of the environment and the file.
protocol FlagOptions: ParsableArguments, CustomReflectable {
  static var settings: [Setting<Settings>] { get }
  /// The values that were given on the command line.
  var given: [SettingKey: [String]] { get set }
}

extension FlagOptions {
  /// ArgumentParser finds the flags of a type by its mirror.
  var customMirror: Mirror {
    Mirror(self, children: Self.settings.map { (label: $0.key.rawValue, value: $0.parsable) })
  }

  init(from decoder: any Decoder) throws {
    self.init()
    let values = try decoder.container(keyedBy: SettingKey.self)
    for setting in Self.settings {
      let key = setting.key
      switch setting.form {
      case .value: given[key] = try values.decode(Option<String?>.self, forKey: key).wrappedValue.map { [$0] }
      case .list:
        let texts = try values.decode(Option<[String]>.self, forKey: key).wrappedValue
        given[key] = texts.isEmpty ? nil : texts
      case .toggle: given[key] = try values.decode(Flag<Bool>.self, forKey: key).wrappedValue ? ["true"] : nil
      }
    }
  }
}

extension Setting<Settings> {
  /// The property wrapper that ArgumentParser parses the flag with.
  fileprivate var parsable: Any {
    let name = NameSpecification.customLong(key.rawValue)
    let help = ArgumentHelp(help, discussion: discussion, valueName: valueName.isEmpty ? nil : valueName)
    return switch form {
    case .value: Option<String?>(name: name, help: help) as Any
    case .list: Option<[String]>(wrappedValue: [], name: name, help: help)
    case .toggle: Flag<Bool>(wrappedValue: false, name: name, help: help)
    }
  }
}

extension SettingKey: CodingKey {
  package var stringValue: String { rawValue }
  package var intValue: Int? { nil }
  package init?(stringValue: String) { self.init(stringValue) }
  package init?(intValue: Int) { return nil }
}

struct ServingFlags: FlagOptions {
  static var settings: [Setting<Settings>] { Settings.serving + Settings.listening }
  var given: [SettingKey: [String]] = [:]
}

struct GatewayFlags: FlagOptions {
  static var settings: [Setting<Settings>] { Settings.gateway }
  var given: [SettingKey: [String]] = [:]
}

struct FleetFlags: FlagOptions {
  static var settings: [Setting<Settings>] { Settings.fleet }
  var given: [SettingKey: [String]] = [:]
}

struct PageFlags: FlagOptions {
  static var settings: [Setting<Settings>] { Settings.pages }
  var given: [SettingKey: [String]] = [:]
}

struct SecurityFlags: FlagOptions {
  static var settings: [Setting<Settings>] { Settings.security + Settings.webhook }
  var given: [SettingKey: [String]] = [:]
}

struct LimitFlags: FlagOptions {
  static var settings: [Setting<Settings>] { Settings.limiting }
  var given: [SettingKey: [String]] = [:]
}

struct LogFlags: FlagOptions {
  static var settings: [Setting<Settings>] { Settings.logging }
  var given: [SettingKey: [String]] = [:]
}

/// The two ways the executable starts.
package enum HostEntry {
  /// Runs pages for the daemon that started this process; never returns.
  package static func runWorker() -> Never { WorkerMain.runOrCheck() }

  /// Limits the arenas of the C library to one for each processor, but at least two: each keeps what is freed in it for
  /// itself, and by default there are eight for each processor. The limit holds if no other thread was started before.
  package static func limitArenas() { mallopt(M_ARENA_MAX, CInt(max(2, pk_usable_processors()))) }

  /// Reads the flags and runs the daemon; never returns.
  ///
  /// - Parameter commit: the commit that the program was built from, for `--version`; `nil` if it is unknown.
  package static func runHost(commit: String?) async -> Never {
    ProcessLimits.raise()
    let processors = Int(pk_usable_processors())
    if processors > 0 { NIOSingletons.groupLoopCountSuggestion = processors }
    await HostVersion.$commit.withValue(commit) { await HostCommand.main() }
    exit(0)
  }
}
