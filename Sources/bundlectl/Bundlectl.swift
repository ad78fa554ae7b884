import ArgumentParser
import Logging

@main
struct Bundlectl: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bundlectl",
    abstract: "Keeps the JavaScript bundles of pages on disk, checked against the server's MD5s.",
    discussion: """
      Exit status: 0 when all is well, 1 when something failed (the rest is kept and said), 64 for wrong usage, \
      130 when interrupted.
      """,
    version: "bundlectl \(Version.current)",
    subcommands: [
      PreloadCommand.self, StatusCommand.self, VerifyCommand.self, CatCommand.self, GCCommand.self,
      ManifestCommand.self, FetchCommand.self, ExplainCommand.self, CacheCommand.self, RenderCommand.self,
      DoctorCommand.self,
    ])
}

enum Version {
  static let current = "0.1.0"
}
