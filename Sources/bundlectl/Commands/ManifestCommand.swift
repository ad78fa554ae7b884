import ArgumentParser

struct ManifestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manifest", abstract: "Build, check, compare, sign and roll out manifests, and say what is off.",
    subcommands: [
      ManifestBuildCommand.self, ManifestCheckCommand.self, ManifestDiffCommand.self, ManifestSignCommand.self,
      ManifestStatusCommand.self, ManifestVerifyCommand.self, ManifestRolloutCommand.self,
    ])
}
