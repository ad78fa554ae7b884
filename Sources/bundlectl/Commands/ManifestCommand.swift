import ArgumentParser

struct ManifestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manifest", abstract: "Build, check and compare manifests.",
    subcommands: [ManifestBuildCommand.self, ManifestCheckCommand.self, ManifestDiffCommand.self])
}
