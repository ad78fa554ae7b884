import ArgumentParser
import Foundation
import PageKit
import Signing

struct KeyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key", abstract: "Make and show the keys that sign manifests and roots.",
    subcommands: [New.self, Show.self])

  struct New: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "new", abstract: "Make an Ed25519 key.",
      discussion: """
        The private key is written to FILE, which its owner alone can read, without a passphrase. An existing file is \
        not replaced.
        """)

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
        "Prints the public key as a PEM file; its id, by which roots and signatures call it, goes to standard error.")

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

  private struct Output: Encodable {
    let file: String
    let id: String
    let publicKey: String
  }

  private static func show(_ key: VerificationKey, of file: String, json: Bool) throws {
    if json { return try JSONOutput.print(Output(file: file, id: key.id.hex, publicKey: key.base64)) }
    Terminal.output.line("\(file): key \(key.id)")
  }
}
