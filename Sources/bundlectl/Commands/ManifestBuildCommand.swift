import ArgumentParser
import Foundation
import PageKit
import PageWorkers
import Releases

struct ManifestBuildCommand: JSONCommand {
  static let configuration = CommandConfiguration(
    commandName: "build",
    abstract: "Make a manifest of a folder.",
    discussion: """
      Hidden files are left out; a symbolic link or an unreadable file is an error. Scripts become bundles, named \
      after their path below DIR without ".js"; all others become files. If FILE is a manifest already, each entry's \
      preload, prefetch and unknown keys are kept, so are channels, a rollout and the other members of the manifest, \
      and release and sequence change only with the contents.

      With --deltas-from, DIR/deltas/ gets a file for each content that OLD has too, under the same name and with other \
      bytes: a host that has those fetches the few bytes of that file. Any web server can serve them.

      With --gate, every page runs in a confined process first, beside the same page of --former or of the first \
      --deltas-from. \(GateOptions.discussion)
      """
  )
  .with(
    examples: "bundlectl manifest build pages -o manifest.json",
    "bundlectl manifest build pages -o manifest.json --deltas-from old/manifest.json",
    "bundlectl manifest build pages -o manifest.json --former old/manifest.json --gate")

  @Argument(help: ArgumentHelp("The folder.", valueName: "dir"), completion: .directory)
  var folder: String

  @Option(
    name: [.customShort("o"), .long],
    help: ArgumentHelp("The file to write; standard output by default.", valueName: "file"),
    completion: .file())
  var output: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The base URL of the paths.", discussion: "Default: the path from FILE's folder to DIR.", valueName: "url"))
  var base: String?

  @Option(
    name: .long,
    help: ArgumentHelp("The release's name.", discussion: "Default: today's date and the sequence.", valueName: "name"))
  var release: String?

  @Option(
    name: .long,
    help: ArgumentHelp("The sequence number.", discussion: "Default: one more than FILE's.", valueName: "n"))
  var sequence: Int64?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The folder or manifest of an older release, from which deltas are made; repeatable.", valueName: "old"),
    completion: .file())
  var deltasFrom: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "With --gate: the folder or manifest of the release before, whose pages run too.", valueName: "old"),
    completion: .file())
  var former: String?

  @OptionGroup var gate: GateOptions

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  func validate() throws {
    if json, output == nil { throw ValidationError("--json describes the file that -o names: give both.") }
    if let sequence, !(0...Int64.sequenceLimit).contains(sequence) {
      throw ValidationError("--sequence must be from 0 to \(Int64.sequenceLimit).")
    }
    if former != nil, gate.mode == nil { throw ValidationError("--former belongs to --gate.") }
  }

  func perform() async throws {
    let former = try existing()
    var builder = ManifestBuilder(folder: folder)
    builder.excluded = output
    builder.hasGate = gate.mode != nil
    var manifest = try builder.manifest(following: former, base: base ?? relativeBase())
    let isChanged =
      former.map { $0.bundles != manifest.bundles || $0.files != manifest.files || $0.base != manifest.base } ?? true
    manifest.sequence =
      try sequence ?? (isChanged ? Manifest.sequence(after: former?.sequence ?? 0) : former?.sequence ?? 1)
    let today = Manifest.releaseName(of: Date())
    manifest.release = release ?? (isChanged ? "\(today)-\(manifest.sequence)" : former?.release ?? today)

    // The next release begins with other installs.
    if isChanged { manifest.rollout?.salt = manifest.release }
    let report = try await passGate(manifest)
    let deltas = try addDeltas(to: &manifest)
    let bytes = try manifest.fileBytes()
    guard let output else { return Terminal.output.write(String(decoding: bytes, as: UTF8.self)) }
    try OutputFile.write(Data(bytes), to: output)
    if json {
      let object: JSONObject = [
        "manifest": output, "release": manifest.release, "sequence": manifest.sequence,
        "bundles": manifest.bundles.count, "files": manifest.files.count, "changed": isChanged,
        "deltas": deltas.count,
      ]
      return try JSONOutput.print(object.adding(ifPresent: ["gate": report?.json]))
    }
    let made =
      deltas.count > 0
      ? "; \(Formatting.count(deltas.count, "delta")) of \(Formatting.bytes(deltas.bytes)) for contents of \(Formatting.bytes(deltas.whole))"
      : ""
    Terminal.output.line(
      "\(output): release \(manifest.release), \(Formatting.count(manifest.bundles.count, "bundle")), \(Formatting.count(manifest.files.count, "file"))\(isChanged ? "" : ", unchanged")\(made)"
    )
  }

  /// - Returns: `nil` without the gate.
  /// - Throws: `ExitCode` if the release is refused, ``DescribedError``.
  private func passGate(_ manifest: Manifest) async throws -> GateReport? {
    guard gate.mode != nil else { return nil }
    guard let url = PageURL(filePath: output ?? "manifest.json") else {
      throw DescribedError("\(output ?? "") cannot be written as a URL")
    }
    let before = try (former ?? deltasFrom.first).map { try GateRelease(former: $0) }
    return try await gate.pass(
      try GateRelease(manifest, of: folder, at: url), beside: before,
      settingsIn: ((output ?? "") as NSString).deletingLastPathComponent, json: json)
  }

  /// - Returns: the number of deltas that were made, their bytes, and the bytes of the contents that they lead to.
  private func addDeltas(to manifest: inout Manifest) throws -> (count: Int, bytes: Int64, whole: Int64) {
    var made: (count: Int, bytes: Int64, whole: Int64) = (0, 0, 0)
    let lines = DrawnLines(.error)
    defer { lines.erase() }
    for place in deltasFrom {
      try DeltaBuilder(former: place).addDeltas(to: &manifest, of: folder) { entry, size in
        if let size { made = (made.count + 1, made.bytes + size, made.whole + (entry.size ?? 0)) }
        lines.draw(["deltas from \(place): \(entry.name)"])
      }
    }
    return made
  }

  private func existing() throws -> Manifest? {
    let kind = try? output.map { try FileManager.default.attributesOfItem(atPath: $0)[.type] as? FileAttributeType }
    guard let output, kind == .typeRegular, let data = FileManager.default.contents(atPath: output) else { return nil }
    do {
      return try Manifest(reading: Array(data))
    } catch {
      throw DescribedError("\(output) exists and is not a manifest, so it is not overwritten: \(error.message)")
    }
  }

  private func relativeBase() -> String {
    let path = folder.path(fromFolderOf: output ?? "manifest.json")
    return path.isEmpty ? "" : path + "/"
  }
}
