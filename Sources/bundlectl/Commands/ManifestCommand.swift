import ArgumentParser

struct ManifestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manifest", abstract: "Build, check, compare and sign manifests.",
    subcommands: [
      ManifestBuildCommand.self, ManifestCheckCommand.self, ManifestDiffCommand.self, ManifestSignCommand.self,
      ManifestVerifyCommand.self,
    ])
}
