import ArgumentParser
import Foundation
import PageKit
import PageWorkers
import Releases

struct ManifestSignCommand: JSONCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign",
    abstract: "Sign a manifest.",
    discussion: """
      The signatures are written beside FILE, with ".sig" behind its name: publish both. With --expires-in the times \
      "signed" and "expires" are first written into the manifest, and its sequence stays. Without, the bytes are signed \
      as they are, and earlier signatures of the same bytes are kept: so several people sign one after the other. If \
      roots are beside FILE, as VERSION.root.json, the newest must list the keys.
      """
  )
  .with(examples: "bundlectl manifest sign --key release.pem --expires-in 30d")

  @Argument(help: ArgumentHelp("The manifest.", valueName: "file"), completion: .file(extensions: ["json"]))
  var manifest = "manifest.json"

  @Option(
    name: .long,
    help: ArgumentHelp(
      "How long hosts may use the manifest, such as 30d. Sign it anew before that.", valueName: "time"))
  var expiresIn: TimeArgument?

  @OptionGroup var signing: SigningOptions

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  func validate() throws {
    if signing.isEmpty { throw SigningOptions.noSigner }
  }

  func perform() async throws {
    let (former, published) = try InputFile.read(manifest) { bytes in
      let read = try Manifest(reading: bytes)
      try read.checkSignable()
      return (bytes, read)
    }
    var (bytes, read) = (former, published)
    if let expiresIn {
      let now = SignedTime.now
      read.setTimes(signed: now, expires: now.advanced(by: expiresIn.duration))
      bytes = try read.fileBytes()
    }
    guard let expires = read.expires else {
      throw DescribedError("\(manifest): \(TrustError.unlimited), with --expires-in")
    }
    let root = try newestRoot()
    if let root { try check(root.root, at: root.path) }
    // The signatures are written first: a host that fetches both meanwhile never finds a new manifest without them, and
    // if signing fails, the manifest stays unchanged.
    let signers = try await signing.sign(bytes, as: .manifest, at: manifest)
    if bytes != former { try OutputFile.write(Data(bytes), to: manifest) }
    // The signatures that the newest root asks for beyond those that are there; `null` without a root.
    var missing: Int?
    if let root, let file = try SignatureFile(beside: manifest) {
      let count = file.signers(of: bytes, among: root.root.keys(of: .release)).count
      missing = max(0, (root.root.roles[.release]?.threshold ?? 1) - count)
    }
    if json {
      return try JSONOutput.print([
        "manifest": manifest, "release": read.release, "sequence": read.sequence, "expires": expires.description,
        "signedBy": signers.map(\.id.hex), "missing": missing,
      ])
    }
    for key in signers {
      Terminal.output.line(
        "\(manifest)\(SignatureFile.suffix): release \(read.release), sequence \(read.sequence), signed by \(key.id), until \(expires)"
      )
    }
    if let root, let missing, missing > 0 {
      Terminal.output.line(
        "\(root.path) asks for \(Formatting.count(missing, "more signature")), by \"bundlectl manifest sign\"")
    }
  }

  /// The newest root beside the manifest that hosts can come to by now; `nil` if there is none.
  private func newestRoot() throws -> (path: String, root: TrustRoot)? {
    let folder = (manifest as NSString).deletingLastPathComponent
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)) ?? []
    let versions = names.compactMap(PublishedRoot.version(ofFile:)).sorted()
    guard let first = versions.first else { return nil }
    func path(_ version: Int64) -> String {
      (folder as NSString).appendingPathComponent(PublishedRoot.name(of: version))
    }
    var newest = (path: path(first), root: try TrustRoot(file: path(first)))
    for version in versions.dropFirst() {
      // One that is still being signed does not count yet.
      guard let next = try? newest.root.successor(InputFile.bytes(path(version)), SignatureFile(beside: path(version)))
      else { break }
      newest = (path(version), next)
    }
    return newest
  }

  /// Checks that hosts will count the signatures.
  private func check(_ root: TrustRoot, at path: String) throws {
    do {
      try root.checkExpiry(at: .now)
    } catch {
      throw DescribedError("\(path): \(error.message)")
    }
    for key in try signing.verificationKeys() where root.roles[.release]?.keys.contains(key.id) != true {
      throw DescribedError(
        "\(path) does not list the key \(key.id) for releases: hosts would not count its signature of \(manifest)")
    }
  }
}
