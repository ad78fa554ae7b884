import ArgumentParser
import Foundation
import Logging

struct Bundlectl: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bundlectl",
    abstract: "Keeps the JavaScript bundles of pages on disk, checked against the server's MD5s.",
    discussion: """
      Exit status: 0 on success, 1 when something failed (the rest is done, and each failure is reported), 64 for \
      wrong usage, 130 when interrupted.
      """,
    version: "bundlectl \(Version.current)",
    subcommands: [
      PreloadCommand.self, StatusCommand.self, VerifyCommand.self, CatCommand.self, GCCommand.self,
      SourceCommand.self, ReleaseCommand.self,
      ManifestCommand.self, PublishCommand.self, ReleasesCommand.self, KeyCommand.self, RootCommand.self,
      FetchCommand.self, ExplainCommand.self,
      CacheCommand.self, RenderCommand.self, DoctorCommand.self,
    ])

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
      let unknown = UnknownCommand(Array(arguments.dropFirst(asksForHelp ? 1 : 0)), of: Bundlectl.self)
    {
      code = .validationFailure
      text = unknown.description
    } else if let error = error as? ValidationError {
      // The parser would show the usage of the whole program for a usage error of a running command.
      text = "Error: \(error.message)\n\(HelpText.usage(of: command, in: Bundlectl.self))"
    } else {
      let message = fullMessage(for: error, columns: nil)
      let isScript = arguments.first?.hasPrefix("--generate-completion-script") == true
      text = isScript ? Completions.finished(message) : message
    }
    let isHelp = code == .success
    let terminal: Terminal = isHelp ? .output : .error
    if !text.isEmpty { terminal.line(HelpText.finished(text, width: terminal.width)) }
    Foundation.exit(code.rawValue)
  }
}

enum Version {
  /// The version, with the commit if it is known.
  static let current = "0.1.0" + (BuildCommit.short.map { " (\($0))" } ?? "")
}
