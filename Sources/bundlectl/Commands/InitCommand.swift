import ArgumentParser
import Foundation
import PageKit
import PageWorkers

struct InitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Make a folder with a page and its tests.",
    discussion: """
      The folder gets a bundle in dist, tests with snapshots, a workflow for GitHub Actions and a README. The page \
      needs no other tool and no network: "bundlectl test" passes at once. A folder that is not empty is left as it is.
      """
  )
  .with(examples: "bundlectl init shop", "bundlectl init shop --template list")

  @Argument(
    help: ArgumentHelp("The folder to make; this one by default.", valueName: "dir"), completion: .directory)
  var folder = "."

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The page: hello, list or form.",
      discussion: """
        A greeting that counts taps; a list that loads more and loads anew; a form that is checked and sent.
        """))
  var template = PageTemplate.hello

  func run() async throws {
    guard !folder.isEmpty else { throw ValidationError("The folder to make has an empty name.") }
    try Self.checkAbsence(of: folder)
    for (name, text) in template.files {
      let path = folder == "." ? name : "\(folder)/\(name)"
      do {
        let parent = path.pathParts.folder
        try FileManager.default.createDirectory(
          atPath: parent.isEmpty ? "." : parent, withIntermediateDirectories: true)
      } catch {
        throw DescribedError("\(folder) cannot be made: \(error.plainReason)")
      }
      try OutputFile.write(Data(text.utf8), to: path, replaces: false)
      Terminal.output.line(path)
    }
    let steps = folder == "." ? "bundlectl test" : "cd \(folder) && bundlectl test"
    Terminal.error.line("bundlectl: next: \(steps)")
  }

  /// - Throws: `ValidationError` if there is something in the place of the folder, or in it. A repository without files is
  ///   as good as nothing.
  private static func checkAbsence(of folder: String) throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder) else { return }
    guard isFolder.boolValue else { throw ValidationError("\(folder) is a file, and a folder was expected.") }
    let found: [String]
    do {
      found = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != ".git" }.sorted()
    } catch {
      throw DescribedError("\(folder) cannot be read: \(error.plainReason)")
    }
    guard let first = found.first else { return }
    throw ValidationError(
      "\(folder == "." ? "This folder" : folder) is not empty: it has \(first). Nothing was written.")
  }
}

extension PageTemplate: ExpressibleByArgument {}
