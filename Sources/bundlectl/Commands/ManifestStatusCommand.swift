import ArgumentParser
import Foundation
import PageKit
import Releases

struct ManifestStatusCommand: JSONCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Write and sign the status beside a manifest: which release is current, and which bundles are off.",
    discussion: """
      Hosts ask for the status if their root has the role "online". It is written beside FILE as status.json, with its \
      signatures in status.json.sig: publish both. It names the signed manifest by its SHA-256, so make a new one for \
      each release, and before the old one expires.

      What the status before it disables stays so until --enable. --halt and --rollback-to stay for as long as the \
      release does. With none of the options that change it, an existing status of this manifest is signed as it is: \
      so several people sign one after the other.
      """
  )
  .with(
    examples: "bundlectl manifest status --key online.pem --expires-in 7d",
    "bundlectl manifest status --key online.pem --disable pay='Paying is off until noon.'")

  @Argument(
    help: ArgumentHelp("The signed manifest, as it is published.", valueName: "file"),
    completion: .file(extensions: ["json"]))
  var manifest = "manifest.json"

  @Option(
    name: .long,
    help: ArgumentHelp(
      "How long hosts may use the status, such as 7d; as the one before it by default, or 7d. Sign it anew before that.",
      valueName: "time"))
  var expiresIn: TimeArgument?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A bundle that no host opens, and the text that its users see. Repeatable.", valueName: "name=message"))
  var disable: [MemberArgument] = []

  @Option(name: .long, help: ArgumentHelp("A bundle that opens again. Repeatable.", valueName: "name"))
  var enable: [String] = []

  @Flag(
    inversion: .prefixedNo,
    help: "Hosts that have not switched to the release yet stay with the one before, or switch again.")
  var halt: Bool?

  @Option(
    name: .long,
    help: ArgumentHelp("The signed manifest of an earlier release that hosts go back to.", valueName: "file"),
    completion: .file(extensions: ["json"]))
  var rollbackTo: String?

  @Flag(name: .long, help: "Hosts no longer go back to an earlier release.")
  var noRollback = false

  @OptionGroup var signing: SigningOptions

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  func validate() throws {
    if signing.isEmpty { throw SigningOptions.noSigner }
    if rollbackTo != nil, noRollback { throw ValidationError("--rollback-to and --no-rollback exclude each other.") }
    let names = disable.map(\.key) + enable
    if let twice = Dictionary(grouping: names, by: \.self).first(where: { $0.value.count > 1 })?.key {
      throw ValidationError("The bundle \(twice.quotedForMessage) is named twice.")
    }
  }

  /// The path of the status: in the manifest's folder.
  private var path: String {
    manifest.lastIndex(of: "/").map { String(manifest[...$0]) + ReleaseStatus.fileName } ?? ReleaseStatus.fileName
  }

  func perform() async throws {
    let (read, digest) = try Self.signedManifest(manifest)
    let former = try existing()
    let release = ReleaseStatus.Release(name: read.release, sequence: read.sequence, sha256: digest)
    let status: ReleaseStatus
    if let former, former.release == release, !changes {
      status = former
    } else {
      status = try changed(former, release, at: .now)
      let known = Set(read.bundles.map(\.name))
      for item in disable where !known.contains(item.key) {
        Terminal.report("\(manifest) has no bundle \(item.key.quotedForMessage); it is disabled in other releases")
      }
    }
    let bytes = try status.encoded()
    guard Int64(bytes.count) <= ReleaseStatus.byteLimit else {
      throw DescribedError("\(path) would have \(bytes.count) bytes, more than \(ReleaseStatus.byteLimit)")
    }
    // The signatures are written first: if signing fails, the status stays unchanged.
    let signers = try await signing.sign(bytes, as: .status, at: path)
    if status != former { try OutputFile.write(Data(bytes), to: path) }
    if json {
      return try JSONOutput.print([
        "status": path, "sequence": status.sequence, "release": status.release.name,
        "expires": status.expires.description, "disabled": status.disabled.map(\.bundle), "halted": status.isHalted,
        "rollbackTo": status.rollbackTo?.sequence, "signedBy": signers.map(\.id.hex),
      ])
    }
    for key in signers {
      Terminal.output.line(
        "\(path)\(SignatureFile.suffix): status \(status.sequence) of \(status.summary), signed by \(key.id), until \(status.expires)"
      )
    }
  }

  private var changes: Bool {
    expiresIn != nil || !disable.isEmpty || !enable.isEmpty || halt != nil || rollbackTo != nil || noRollback
  }

  private func existing() throws -> ReleaseStatus? {
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    return try InputFile.read(path) { try ReleaseStatus(reading: $0) }
  }

  private func changed(
    _ former: ReleaseStatus?, _ release: ReleaseStatus.Release, at now: SignedTime
  ) throws -> ReleaseStatus {
    let sequence = (former?.sequence ?? 0) + 1
    guard sequence <= Int64.sequenceLimit else {
      throw DescribedError("\(path) has the largest sequence: change the online key with \"root rotate\"")
    }
    let time =
      expiresIn?.duration ?? former.map { .seconds($0.expires.seconds - $0.signed.seconds) } ?? .seconds(7 * 86_400)
    let isSameRelease = former?.release == release
    var status = ReleaseStatus(
      sequence: sequence, signed: now, expires: now.advanced(by: time), release: release,
      disabled: try disabled(after: former), rollbackTo: isSameRelease ? former?.rollbackTo : nil,
      isHalted: halt ?? (isSameRelease && former?.isHalted == true))
    if noRollback { status.rollbackTo = nil }
    if let rollbackTo {
      let (earlier, digest) = try Self.signedManifest(rollbackTo)
      status.rollbackTo = .init(sequence: earlier.sequence, sha256: digest)
    }
    if let fault = status.fault { throw DescribedError("this cannot be a status: \(fault)") }
    return status
  }

  private func disabled(after former: ReleaseStatus?) throws -> [ReleaseStatus.Disabled] {
    var messages = Dictionary(
      (former?.disabled ?? []).map { ($0.bundle, $0.message) }, uniquingKeysWith: { first, _ in first })
    for name in enable where messages.removeValue(forKey: name) == nil {
      throw DescribedError("\(path) does not disable \(name.quotedForMessage)")
    }
    for item in disable { messages[item.key] = item.value }
    return messages.map { .init(bundle: $0.key, message: $0.value) }
  }

  /// Reads a manifest that has signatures of its bytes beside it.
  private static func signedManifest(_ path: String) throws -> (Manifest, SHA256Digest) {
    let (manifest, digest) = try InputFile.read(path) { (try Manifest(reading: $0), try SHA256Digest(of: $0)) }
    guard let signatures = try SignatureFile(beside: path), signatures.kind == .manifest,
      signatures.content == digest
    else {
      throw DescribedError(
        "\(path) has no signatures of its bytes beside it, and a status names only what a release key has signed: sign it with \"bundlectl manifest sign\""
      )
    }
    return (manifest, digest)
  }
}

extension ReleaseStatus {
  /// A line with the release, its disabled bundles and the orders to hosts, such as
  /// `release r5, sequence 5; disabled: pay; halted`.
  var summary: String {
    var parts = ["release \(release.name), sequence \(release.sequence)"]
    if !disabled.isEmpty { parts.append("disabled: \(disabled.map(\.bundle).joined(separator: ", "))") }
    if isHalted { parts.append("halted") }
    if let rollbackTo { parts.append("back to sequence \(rollbackTo.sequence)") }
    return parts.joined(separator: "; ")
  }
}
