import ArgumentParser
import Foundation
import PageKit
import Releases

struct KeyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key", abstract: "Make and show keys that sign, and make the tokens of installs.",
    subcommands: [New.self, Show.self, Token.self])

  struct New: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "new", abstract: "Make an Ed25519 key.",
      discussion: """
        The private key is written to FILE, which its owner alone can read, without a passphrase. An existing file is \
        not replaced.
        """
    )
    .with(examples: "bundlectl key new release.pem")

    @Argument(help: ArgumentHelp("The file to write.", valueName: "file"), completion: .file(extensions: ["pem"]))
    var file: String

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    func run() async throws {
      let key = try SigningKey()
      try KeyFile.write(key, to: file)
      try KeyCommand.show(key.verificationKey, of: file, json: json)
    }
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Show the public part of a key.",
      discussion:
        "Prints the public key as a PEM file; its id, by which roots and signatures call it, goes to standard error."
    )
    .with(examples: "bundlectl key show release.pem > release.pub")

    @Argument(
      help: ArgumentHelp("PEM file of a private or a public key.", valueName: "file"),
      completion: .file(extensions: ["pem"]))
    var file: String

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    func run() async throws {
      let key = try KeyFile.verificationKey(file)
      if json { return try KeyCommand.show(key, of: file, json: true) }
      Terminal.error.line("key \(key.id)")
      Terminal.output.write(try key.pem())
    }
  }

  struct Token: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "token", abstract: "Make the token with which an install reports if releases are good or bad on it.",
      discussion: """
        It is a JSON Web Token, signed with Ed25519 ("alg": "EdDSA"), whose audience ("aud") is "pagekit-reports" and \
        whose subject ("sub") is INSTALL. The app's server makes such tokens with any library for them; a renderhost with \
        the public key as --report-key accepts them.
        """
    )
    .with(examples: "bundlectl key token install-17 --key reports.pem --expires-in 30d")

    @Argument(
      help: ArgumentHelp("A text that is the install's own: reports count once for it.", valueName: "install"))
    var install: String

    @Option(name: .long, help: ArgumentHelp("How long the token is accepted, such as 30d.", valueName: "time"))
    var expiresIn = TimeArgument(days: 30)

    @OptionGroup var signing: SigningOptions

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    func validate() throws {
      guard signing.key.count + (signing.signWith == nil ? 0 : 1) == 1 else {
        throw ValidationError("Name one key with --key, or a command that signs with --sign-with.")
      }
      guard (1...ReportToken.installLimit).contains(install.utf8.count) else {
        throw ValidationError("INSTALL must have 1 to \(ReportToken.installLimit) bytes.")
      }
    }

    func perform() async throws {
      let token = ReportToken(install: install, expires: SignedTime.now.advanced(by: expiresIn.duration))
      let text = try await token.text { try await signing.signature(over: $0) }
      guard json else { return Terminal.output.line(text) }
      try JSONOutput.print(["install": install, "token": text, "expires": token.expires.description])
    }
  }

  private static func show(_ key: VerificationKey, of file: String, json: Bool) throws {
    if json { return try JSONOutput.print(["file": file, "id": key.id.hex, "publicKey": key.base64]) }
    Terminal.output.line("\(file): key \(key.id)")
  }
}
