import ArgumentParser
import Foundation
import PageKit

struct ManifestCheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Validate a manifest, and the bundles beside a file with a relative base."
  )
  .with(
    examples: "bundlectl manifest check manifest.json",
    "bundlectl manifest check https://pages.example.com/manifest.json")

  @Argument(
    help: ArgumentHelp("An http or https URL, or a file.", valueName: "url|file"),
    completion: .file(extensions: ["json"]))
  var manifest = "manifest.json"

  @OptionGroup var access: ManifestReader.Options

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  func run() async throws {
    let url = try PageURL(manifestArgument: manifest)
    var output = Output(manifest: url.readable)
    do {
      let read = try await access.reader.read(url)
      output.release = read.release
      output.sequence = read.sequence
      output.bundles = read.bundles.count
      output.files = read.files.count
      if url.isFile { output.faults = Self.localFaults(try read.located(at: url)) }
    } catch ManifestError.invalid(let faults) {
      output.faults = faults.map(\.description)
    } catch {
      output.faults = [error.sentence]
    }
    output.valid = output.faults.isEmpty
    if json {
      try JSONOutput.print(output)
    } else {
      for fault in output.faults { Terminal.output.line(fault) }
      Terminal.output.line(
        output.valid
          ? "\(manifest) is valid: release \(output.release ?? ""), \(Formatting.count(output.bundles, "bundle")), \(Formatting.count(output.files, "file"))"
          : "\(manifest) has \(Formatting.count(output.faults.count, "fault"))")
    }
    if !output.valid { throw ExitCode.failure }
  }

  private static func localFaults(_ bundles: [PageBundle]) -> [String] {
    bundles.compactMap { bundle in
      guard let path = bundle.contentURL.filePath else { return nil }
      let subject = "\(bundle.kind.rawValue) \(bundle.name.quotedForMessage)"
      guard let data = FileManager.default.contents(atPath: path) else { return "\(subject): \(path) cannot be read" }
      do {
        let found = try ContentDigests(of: Array(data))
        guard bundle.expected.mismatch(with: found) != nil else { return nil }
        return "\(subject): the manifest says MD5 \(bundle.md5), \(path) has \(found.md5): build the manifest again"
      } catch {
        return "\(subject): \(error.sentence)"
      }
    }
  }

  private struct Output: Encodable {
    let manifest: String
    var valid = false
    var release: String?
    var sequence: Int64 = 0
    var bundles = 0
    var files = 0
    var faults: [String] = []
  }
}
