import ArgumentParser

struct ManifestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manifest", abstract: "Build, check, compare, sign and roll out manifests.",
    subcommands: [
      ManifestBuildCommand.self, ManifestCheckCommand.self, ManifestDiffCommand.self, ManifestSignCommand.self,
      ManifestVerifyCommand.self, ManifestRolloutCommand.self,
    ])
}
