import Foundation
import PackagePlugin

/// Writes `BuildCommit.short`, the commit that a program is built from, for its `--version`: `nil` without git.
@main
struct BuildCommit: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let package = context.package.directoryURL
    let script = package.appending(path: "scripts/write-commit")
    let output = context.pluginWorkDirectoryURL.appending(path: "BuildCommit.swift")
    // git adds a line to it whenever another commit is checked out.
    let log = package.appending(path: ".git/logs/HEAD")
    let isThere = FileManager.default.fileExists(atPath: log.path)
    return [
      .buildCommand(
        displayName: "Writing the commit of \(target.name)", executable: URL(fileURLWithPath: "/bin/sh"),
        arguments: [script.path, package.path, output.path], inputFiles: [script] + (isThere ? [log] : []),
        outputFiles: [output])
    ]
  }
}
