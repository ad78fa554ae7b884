import ArgumentParser
import Foundation
import PageKit
import Signing

struct ManifestSignCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign",
    abstract: "Sign a manifest.",
    discussion: """
      The signatures are written beside FILE, with ".sig" behind its name: publish both. With --expires-in the times \
      "signed" and "expires" are first written into the manifest, and its sequence stays. Without, the bytes are signed \
      as they are, and earlier signatures of the same bytes are kept: so several people sign one after the other.
      """)

  @Argument(help: ArgumentHelp("The manifest.", valueName: "file"), completion: .file(extensions: ["json"]))
  var manifest = "manifest.json"

  @Option(
    name: .long,
    help: ArgumentHelp(
      "How long hosts may use the manifest, such as 30d. Sign it anew before that.", valueName: "time"))
  var expiresIn: TimeArgument?

  @OptionGroup var signing: SigningOptions

  func validate() throws {
    if signing.signers.isEmpty { throw SigningOptions.nobody }
  }

  func run() async throws {
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
      throw CommandError("\(manifest): \(TrustError.unlimited), with --expires-in")
    }
    // The signatures come first: nobody who fetches both meanwhile finds a new manifest without them, and where signing
    // fails, the manifest stays as it was.
    let signers = try await signing.signers.sign(bytes, as: .manifest, at: manifest)
    if bytes != former { try OutputFile.write(Data(bytes), to: manifest) }
    for key in signers {
      Terminal.output.line(
        "\(manifest)\(SignatureFile.suffix): release \(read.release), sequence \(read.sequence), signed by \(key.id), until \(expires)"
      )
    }
  }
}
