import ArgumentParser
import Foundation
import HTTPTypes
import PageKit
import PageWorkers

struct ManifestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manifest", abstract: "Build, check, compare, sign and roll out manifests, and say what is off.",
    subcommands: [
      ManifestBuildCommand.self, ManifestCheckCommand.self, ManifestDiffCommand.self, ManifestSignCommand.self,
      ManifestStatusCommand.self, ManifestVerifyCommand.self, ManifestRolloutCommand.self,
    ])
}

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

  @OptionGroup var reader: ManifestReader

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  func run() async throws {
    let url = try PageURL(manifestArgument: manifest)
    var read: Manifest?
    var faults: [String] = []
    do {
      let found = try await reader.read(url)
      read = found
      if url.isFile { faults = Self.localFaults(try found.located(at: url)) }
    } catch ManifestError.invalid(let found) {
      faults = found.map(\.description)
    } catch {
      faults = [error.message]
    }
    let (bundles, files) = (read?.bundles.count ?? 0, read?.files.count ?? 0)
    if json {
      let object: JSONObject = [
        "manifest": url.readable, "valid": faults.isEmpty, "sequence": read?.sequence ?? 0, "bundles": bundles,
        "files": files, "faults": faults,
      ]
      try JSONOutput.print(object.adding(ifPresent: ["release": read?.release]))
    } else {
      for fault in faults { Terminal.output.line(fault) }
      Terminal.output.line(
        faults.isEmpty
          ? "\(manifest) is valid: release \(read?.release ?? ""), \(Formatting.count(bundles, "bundle")), \(Formatting.count(files, "file"))"
          : "\(manifest) has \(Formatting.count(faults.count, "fault"))")
    }
    if !faults.isEmpty { throw ExitCode.failure }
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
        return "\(subject): \(error.message)"
      }
    }
  }
}

struct ManifestDiffCommand: JSONCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Show the changes between two manifests."
  )
  .with(examples: "bundlectl manifest diff old/manifest.json https://pages.example.com/manifest.json")

  @Argument(
    help: ArgumentHelp("The older: an http or https URL, or a file.", valueName: "old"),
    completion: .file(extensions: ["json"]))
  var old: String

  @Argument(
    help: ArgumentHelp("The newer: an http or https URL, or a file.", valueName: "new"),
    completion: .file(extensions: ["json"]))
  var new: String

  @OptionGroup var reader: ManifestReader

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  func perform() async throws {
    func digests(_ manifest: String) async throws -> [String: MD5Digest] {
      let read = try await reader.read(try PageURL(manifestArgument: manifest))
      return Dictionary((read.bundles + read.files).map { ($0.path, $0.md5) }, uniquingKeysWith: { first, _ in first })
    }
    let (before, after) = (try await digests(old), try await digests(new))
    let added = after.keys.filter { before[$0] == nil }.sorted()
    let changed = after.keys.filter { path in before[path].map { $0 != after[path] } ?? false }.sorted()
    let removed = before.keys.filter { after[$0] == nil }.sorted()
    if json { return try JSONOutput.print(["added": added, "changed": changed, "removed": removed]) }
    let terminal = Terminal.output
    for path in added { terminal.line(terminal.styled("+ \(path)", .green)) }
    for path in changed { terminal.line(terminal.styled("~ \(path)", .yellow)) }
    for path in removed { terminal.line(terminal.styled("- \(path)", .red)) }
    terminal.line("\(added.count) added, \(changed.count) changed, \(removed.count) removed")
  }
}

/// Reads a manifest without a store.
struct ManifestReader: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "A header field, sent to the origin of each manifest that is read, and to no other. Repeatable.",
      valueName: "field"))
  var header: [String] = []

  @Option(
    name: .long, help: ArgumentHelp("PEM file of the certificate authorities to trust.", valueName: "file"),
    completion: .file())
  var caFile: String?

  init() {}

  init(header: [String], caFile: String?) { (self.header, self.caFile) = (header, caFile) }

  func read(_ url: PageURL) async throws -> Manifest { try Manifest(reading: try await found(at: url).bytes) }

  /// The bytes of a manifest, and its URL: another one than that which was asked for if a pointer is there.
  func found(at url: PageURL) async throws -> (bytes: [UInt8], url: PageURL) {
    let bytes = try await bytes(at: url)
    guard let reference = try ReleasePointer(reading: bytes)?.current.manifest,
      let place = url.resolving(reference.url)
    else { return (bytes, url) }
    guard url.mayName(place) else { throw SourceError.localFile(url, url: place) }
    let manifest = try await self.bytes(at: place)
    let digest = try SHA256Digest(of: manifest)
    guard digest == reference.sha256 else {
      throw SourceError.otherBytes(url, url: place, expected: reference.sha256, found: digest)
    }
    return (manifest, place)
  }

  private func bytes(at url: PageURL) async throws -> [UInt8] {
    guard let bytes = try await bytes(at: url, limit: ManifestLimits.standard.manifestBytes) else {
      throw DescribedError(
        url.filePath.map { "\($0) cannot be read: there is no such file" } ?? "\(url): the server answers 404 Not Found"
      )
    }
    return bytes
  }

  /// The files that say whether the manifest is trusted.
  func signedFiles(of url: PageURL) -> SignedFiles {
    SignedFiles(of: url) { [self] in try await bytes(at: $0, limit: $1) }
  }

  /// - Returns: `nil` if there is no such file.
  private func bytes(at url: PageURL, limit: Int64) async throws -> [UInt8]? {
    if let path = url.filePath {
      do {
        return try RegularFile.contents(of: path, upTo: limit)
      } catch RegularFileError.absent {
        return nil
      } catch {
        throw DescribedError("\(path) cannot be read: \(error.message)")
      }
    }
    var options = try SourceOptions.parse(header.flatMap { ["--header", $0] })
    options.caFile = caFile
    let fields = OriginFields(try options.fields(), for: url)
    return try await CurlTransport.using(.init(certificateAuthorities: caFile)) { transport in
      let response = try await OriginClient(transport, fields: fields).send(.get, url, bodyLimit: limit)
      if response.head.status == .notFound { return nil }
      if response.head.status == .forbidden {
        throw SourceError.unreachable(url, HTTPFault(response.head, url: url, now: .now))
      }
      guard response.head.status == .ok else {
        throw DescribedError("\(url): the server answers \(response.head.status)")
      }
      return try await response.body.collect(upTo: limit)
    }
  }
}
