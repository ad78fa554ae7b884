import ArgumentParser
import Foundation
import PageKit
import PageWorkers
import Releases

struct ManifestVerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check the signatures of a manifest, and of the status beside it, against a root.",
    discussion: """
      The signatures are beside the manifest, with ".sig" behind its name. If the roots that follow are there too, as \
      VERSION.root.json, the keys of the newest one count. If that has the role "online", status.json must be there \
      and of this manifest.
      """
  )
  .with(
    examples: "bundlectl manifest verify --root 1.root.json",
    "bundlectl manifest verify https://pages.example.com/manifest.json --root 1.root.json")

  @Argument(
    help: ArgumentHelp("An http or https URL, or a file.", valueName: "url|file"),
    completion: .file(extensions: ["json"]))
  var manifest = "manifest.json"

  @Option(
    name: .long, help: ArgumentHelp("The root whose keys may sign.", valueName: "file"),
    completion: .file(extensions: ["json"]))
  var root: String

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The longest time since the manifest was signed, or its status if the root has the role \"online\", such as 7d.",
      valueName: "time"))
  var freshFor: TimeArgument?

  @OptionGroup var reader: ManifestReader

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  func run() async throws {
    var root = try TrustRoot(file: root)
    let url = try PageURL(manifestArgument: manifest)
    var read: Manifest?
    var signedBy: [String] = []
    var status: ReleaseStatus?
    var fault: String?
    do {
      let (bytes, place) = try await reader.found(at: url)
      let found = try Manifest(reading: bytes)
      read = found
      let files = reader.signedFiles(of: url)
      root = try await files.newestRoot(from: root)
      let signatures = try await reader.signedFiles(of: place).signatureFile()
      signedBy = signatures?.signers(of: bytes, among: root.keys(of: .release)).map(\.id.hex).sorted() ?? []
      try ManifestTrust(root: root, freshFor: root.asksForStatus ? nil : freshFor?.duration).check(
        found, bytes, signatures, after: nil, at: .now)
      if root.asksForStatus {
        status = try await Self.status(of: found, bytes, files, ManifestTrust(root: root, freshFor: freshFor?.duration))
      }
    } catch {
      fault = error.message
    }
    let (sequence, expires) = (read?.sequence ?? 0, read?.expires?.description)
    if json {
      let object: JSONObject = [
        "manifest": url.readable, "valid": fault == nil, "sequence": sequence, "signedBy": signedBy,
      ]
      // The status is missing if the root asks for none.
      try JSONOutput.print(
        object.adding(ifPresent: [
          "release": read?.release, "signed": read?.signed?.description, "expires": expires,
          "status": status.map(Self.json), "fault": fault,
        ]))
    } else if let fault {
      Terminal.output.line("\(manifest): \(fault)")
    } else {
      Terminal.output.line(
        "\(manifest) is trusted: release \(read?.release ?? ""), sequence \(sequence), until \(expires ?? ""), signed by \(signedBy.joined(separator: ", "))"
      )
      if let status {
        Terminal.output.line("status \(status.sequence): \(status.summary); until \(status.expires)")
      }
    }
    if fault != nil { throw ExitCode.failure }
  }

  private static func json(_ status: ReleaseStatus) -> JSONObject {
    let disabled = status.disabled.map { ["bundle": $0.bundle, "message": $0.message] }
    let object: JSONObject = [
      "sequence": status.sequence, "signed": status.signed.description, "expires": status.expires.description,
      "disabled": disabled, "halted": status.isHalted,
    ]
    // The sequence of the release that hosts go back to.
    return object.adding(ifPresent: ["rollbackTo": status.rollbackTo?.sequence])
  }

  private static func status(
    of manifest: Manifest, _ bytes: [UInt8], _ files: SignedFiles, _ trust: ManifestTrust
  ) async throws -> ReleaseStatus {
    guard let published = try await files.status() else { throw TrustError.noStatus }
    return try trust.checkStatus(
      published.bytes, try published.signatureFile(),
      of: .init(sequence: manifest.sequence, sha256: try SHA256Digest(of: bytes)), after: nil, at: .now)
  }
}
