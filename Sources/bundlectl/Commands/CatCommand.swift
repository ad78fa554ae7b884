import ArgumentParser
import Foundation
import PageKit

struct CatCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cat", abstract: "Write a stored bundle's bytes, checked, to standard output."
  )
  .with(examples: "bundlectl cat home > home.js")

  @Argument(help: "The bundle's name or URL, or a file's path.", completion: Completions.bundles)
  var bundle: String

  @Option(
    name: .long, help: ArgumentHelp("The source of the bundle, if the store has several.", valueName: "url|file"),
    completion: .file(extensions: ["json"]))
  var manifest: String?

  @OptionGroup var place: StorePlace

  func run() async throws {
    try place.check()
    let directory = place.directory
    let opened = try BundleStore(reading: directory)
    guard let blob = try await find(in: opened)?.blob else {
      throw DescribedError("bundle \(bundle.quotedForMessage) is not in the store \(directory.path)")
    }
    do {
      Terminal.output.write(try await opened.bytes(of: blob).bytes)
    } catch let error as BlobError {
      throw DescribedError("\(error): run \"bundlectl verify --repair\"")
    }
  }

  private func find(in opened: BundleStore) async throws -> StoredBundle? {
    if bundle.contains("://"), let url = PageURL(bundle) {
      return try await opened.bundle(at: url)
    }
    let source = try await StoredSource.chosen(manifest, in: opened)
    // The newest stored version, as an opening would take it.
    for release in source.openable {
      let found = try await opened.recordedContents(of: release).first { $0.bundle.name == bundle && $0.blob != nil }
      if let found { return found }
    }
    return nil
  }
}
