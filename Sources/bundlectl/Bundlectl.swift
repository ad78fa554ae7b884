import ArgumentParser
import Blobs
import CLinux
import CurlTransport
import Dispatch
import Foundation
import Logging
import PageKit
import PageWorkers
import RenderHost
import UnixSignals

@main
enum Program {
  /// A worker confines itself before any thread starts, so this function never awaits.
  ///
  /// A link with the name of the other program runs that one: releases have one file for both.
  static func main() {
    if CommandLine.arguments.first?.split(separator: "/").last == HostCommand.programName[...] {
      HostCommand.runProgram(commit: BuildCommit.short)
    }
    let command = CommandLine.arguments.dropFirst().first
    if command == "worker" { WorkerMain.run(for: "bundlectl") }
    if let problem = AddressSpace.problem(least: AddressSpace.leastToRun) {
      Terminal.report(problem)
      exit(1)
    }
    // Scripts ask for it and wait, and nothing else of the program is needed.
    if command == "--version", CommandLine.arguments.count == 2 {
      Terminal.output.line(Bundlectl.version)
      exit(0)
    }
    // It always sends a request, but for a wrong usage: libcurl is loaded while the arguments are read and the store opens.
    if command == "preload" {
      // The memory of a bundle's bytes is the next one's: the system would have to clear it each time.
      _ = mallopt(M_TRIM_THRESHOLD, 16 << 20)
      _ = mallopt(M_MMAP_THRESHOLD, 1 << 20)
      CurlTransport.loadAhead()
    }
    Task {
      await Bundlectl.main()
      exit(0)
    }
    dispatchMain()
  }
}

struct Bundlectl: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bundlectl",
    abstract: "Keeps the JavaScript bundles of pages on disk, checked against the server's MD5s.",
    discussion: """
      Exit status: 0 on success, 1 when something failed (the rest is done, and each failure is reported), 64 for \
      wrong usage, 130 when interrupted.
      """,
    version: version,
    subcommands: [
      PreloadCommand.self, StatusCommand.self, VerifyCommand.self, CatCommand.self, GCCommand.self,
      SourceCommand.self, ReleaseCommand.self,
      ManifestCommand.self, PublishCommand.self, ReleasesCommand.self, KeyCommand.self, RootCommand.self,
      FetchCommand.self, ExplainCommand.self,
      CacheCommand.self, RenderCommand.self, ReplayCommand.self, DevCommand.self, TestCommand.self, InitCommand.self,
      DoctorCommand.self,
    ])

  /// The program's name and version, with the commit if it is known.
  fileprivate static let version = "bundlectl 0.1.0" + (BuildCommit.short.map { " (\($0))" } ?? "")

  static func main() async {
    // Enables the width of characters for the terminal; messages stay unchanged.
    setlocale(LC_CTYPE, "C.UTF-8")
    let arguments = Array(CommandLine.arguments.dropFirst())
    var used: any ParsableCommand.Type = Bundlectl.self
    do {
      var command = try await asyncParseAsRoot(arguments)
      used = type(of: command)
      if var asyncCommand = command as? any AsyncParsableCommand {
        try await asyncCommand.run()
      } else {
        try command.run()
      }
    } catch {
      end(with: error, of: used, arguments)
    }
  }

  /// Prints the message of an error or of a help request, and exits.
  private static func end(with error: any Error, of command: any ParsableCommand.Type, _ arguments: [String]) -> Never {
    var code = exitCode(for: error)
    let text: String
    let asksForHelp = arguments.first == "help"
    if asksForHelp || code != .success && command == Bundlectl.self,
      let unknown = HelpText.unknownCommand(in: Array(arguments.dropFirst(asksForHelp ? 1 : 0)), of: Bundlectl.self)
    {
      code = .validationFailure
      text = unknown
    } else if let error = error as? ValidationError {
      // The parser would show the usage of the whole program for a usage error of a running command.
      text = "Error: \(error.message)\n\(HelpText.usage(of: command, in: Bundlectl.self))"
    } else {
      let advised: any Error = error.advice == nil ? error : DescribedError(error.message)
      let message = fullMessage(for: advised, columns: nil)
      let isScript = arguments.first?.hasPrefix("--generate-completion-script") == true
      text = isScript ? Completions.finished(message) : message
    }
    let isHelp = code == .success
    let terminal: Terminal = isHelp ? .output : .error
    if !text.isEmpty { terminal.line(HelpText.finished(text, width: terminal.width)) }
    Foundation.exit(code.rawValue)
  }
}

/// Ends work cleanly when the user interrupts it. From its initialisation on, SIGINT, SIGTERM and SIGHUP do not end the
/// process by themselves.
struct Interruption {
  /// The status that shells report for a command that SIGINT ended.
  static let exitCode = ExitCode(130)

  private let signals: UnixSignalsSequence

  init() async {
    signals = await UnixSignalsSequence(
      trapping: Self.isHangUpIgnored ? [.sigint, .sigterm] : [.sigint, .sigterm, .sighup])
  }

  /// `true` if the command ignores SIGHUP, as under `nohup`.
  private static var isHangUpIgnored: Bool {
    var action = sigaction()
    guard sigaction(SIGHUP, nil, &action) == 0 else { return false }
    let ignoring = SIG_IGN
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(ignoring, to: Int.self)
  }

  /// Waits for a signal.
  ///
  /// - Returns: `false` if the task was cancelled before one came.
  func signal() async -> Bool {
    for await _ in signals { return true }
    return false
  }

  /// Runs `work`. The first signal calls `cancel`; the function still waits for the work.
  ///
  /// - Returns: `true` if there was a signal.
  func watching<Value: Sendable>(
    cancel: @escaping @Sendable () -> Void, _ work: () async -> Value
  ) async -> (Value, wasInterrupted: Bool) {
    let watcher = Task {
      let wasInterrupted = await signal()
      if wasInterrupted { cancel() }
      return wasInterrupted
    }
    let value = await work()
    watcher.cancel()
    return (value, await watcher.value)
  }
}
