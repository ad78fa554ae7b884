import ArgumentParser
import CLinux
import CacheGateway
import Dispatch
import Foundation
import HTTPTransport
import Logging
import NIOCore
import PageKit
import PageWorkers
import ServerKit

/// `renderhost`.
package struct HostCommand: AsyncParsableCommand {
  package static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: programName,
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

  @OptionGroup(title: "Serving") var serving: SettingFlags<0>
  @OptionGroup(title: "Gateway") var gateway: SettingFlags<1>
  @OptionGroup(title: "Fleet") var fleet: SettingFlags<2>
  @OptionGroup(title: "Pages") var pages: SettingFlags<3>
  @OptionGroup(title: "Security") var security: SettingFlags<4>
  @OptionGroup(title: "Limits") var limits: SettingFlags<5>
  @OptionGroup(title: "Logs") var logs: SettingFlags<6>

  @Option(help: ArgumentHelp("A JSON file of settings. (or RENDERHOST_CONFIG)", valueName: "file"))
  var config: String?

  @Flag(help: "Print the settings, where each came from, and the problems with them.")
  var checkConfig = false

  package init() {}

  var given: [SettingKey: [String]] {
    let groups = [
      serving.given, gateway.given, fleet.given, pages.given, security.given, limits.given, logs.given,
    ]
    return groups.reduce(into: [:]) { $0.merge($1) { first, _ in first } }
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
      if let problem = merged.settings.problems.first { throw SettingsError.combination(problem) }
      try await RenderHostParts(merged.settings, logger: logger).run(sources: merged.sources, reread: reader.merged)
    } catch {
      logger.critical("\(error.message)")
      throw ExitCode.failure
    }
  }

  private func warnings(_ settings: Settings) -> [String] {
    // A certificate that has expired keeps nothing down that need not be: some clients do not check it.
    ProcessLimits.current.warnings(settings) + ListenerPlan(settings.server).warnings
      + [settings.certificateProblem(at: Date())].compactMap(\.self)
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
    let problems = [limits.problem].compactMap(\.self) + merged.settings.problems
    for problem in problems { Self.say("renderhost: \(problem)") }
    if !problems.isEmpty { throw ExitCode.failure }
  }

  private static func say(_ line: String) { FileHandle.standardError.write(Data((line + "\n").utf8)) }
}

// MARK: - Flags

/// The flags of a group of settings, made from their rows in the table. Their values stay texts: the settings' reader
/// parses them together with those of the environment and the file.
///
/// ArgumentParser reads the flags of a type, so that each group has its own: `group` is its place in ``Settings/groups``.
struct SettingFlags<let group: Int>: ParsableArguments, CustomReflectable {
  /// The values that were given on the command line.
  private(set) var given: [SettingKey: [String]] = [:]

  init() {}

  /// ArgumentParser finds the flags of a type by its mirror.
  var customMirror: Mirror {
    Mirror(self, children: Settings.groups[group].map { (label: $0.key.rawValue, value: $0.parsable) })
  }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: SettingKey.self)
    for setting in Settings.groups[group] {
      let key = setting.key
      switch setting.form {
      case .value, .valueOr: given[key] = try values.decode(Option<String?>.self, forKey: key).wrappedValue.map { [$0] }
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
    case .valueOr(let value): Option<String?>(name: name, defaultAsFlag: value, parsing: .next, help: help)
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

/// The program.
extension HostCommand {
  /// The name of the program, by which `bundlectl` knows that it was called as this one.
  package static let programName = "renderhost"

  /// Runs pages for the daemon that started this process, or reads the flags and runs the daemon; never returns.
  ///
  /// A worker drops what it can before anything starts a thread, so this function never awaits.
  ///
  /// - Parameter commit: the commit that the program was built from, for `--version`; `nil` if it is unknown.
  package static func runProgram(commit: String?) -> Never {
    if CommandLine.arguments.dropFirst().first == "worker" { WorkerMain.runOrCheck() }
    // The arenas of the C library are limited to one for each processor, but at least two: each keeps the memory freed in
    // it for itself, and by default there are eight for each processor. The limit holds if no other thread was started
    // before.
    mallopt(M_ARENA_MAX, CInt(max(2, pk_usable_processors())))
    Task {
      ProcessLimits.raise()
      let processors = Int(pk_usable_processors())
      if processors > 0 { NIOSingletons.groupLoopCountSuggestion = processors }
      await HostVersion.$commit.withValue(commit) { await HostCommand.main() }
      Foundation.exit(0)
    }
    dispatchMain()
  }
}
