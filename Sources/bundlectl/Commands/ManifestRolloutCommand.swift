import ArgumentParser
import Foundation
import PageKit

struct ManifestRolloutCommand: JSONCommand {
  static let configuration = CommandConfiguration(
    commandName: "rollout",
    abstract: "Publish a release to a share of the installs.",
    discussion: """
      All other installs get the release of --otherwise, a manifest that stays published with its bundles, such as that \
      of the release before in a folder of its own. An install that got a release keeps it. A higher share only adds \
      installs; with 100 the rollout ends. Sign a signed manifest anew afterwards.
      """
  )
  .with(
    examples: "bundlectl manifest rollout --percent 5 --otherwise old/manifest.json",
    "bundlectl manifest rollout --percent 100")

  @Argument(help: ArgumentHelp("The manifest.", valueName: "file"), completion: .file(extensions: ["json"]))
  var manifest = "manifest.json"

  @Option(name: .long, help: ArgumentHelp("The share in percent, such as 5 or 0.5.", valueName: "n"))
  var percent: Double

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The manifest that all others get.", discussion: "Default: the one that FILE names already.", valueName: "file"),
    completion: .file(extensions: ["json"]))
  var otherwise: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The URL of that manifest.", discussion: "Default: the path from FILE's folder to it.", valueName: "url"))
  var otherwiseURL: String?

  @Flag(name: .long, help: "Allow a lower share than before. Installs that got the release keep it.")
  var lower = false

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  func validate() throws {
    guard (0...100).contains(percent) else { throw ValidationError("--percent must be from 0 to 100.") }
    if otherwiseURL != nil, otherwise == nil {
      throw ValidationError("--otherwise-url needs --otherwise FILE, whose bytes are named.")
    }
  }

  func perform() throws {
    var read = try InputFile.read(manifest) { try Manifest(reading: $0) }
    if let former = read.rollout, percent < former.percent, !lower {
      throw DescribedError(
        "\(manifest): release \(read.release) is rolled out to \(Self.text(former.percent)) % already, and installs that got it keep it: give --lower if fewer others shall get it"
      )
    }
    if let otherwise { read.otherwise = try reference(to: otherwise, from: read) }
    if percent < 100 {
      guard read.otherwise != nil else {
        throw DescribedError("\(manifest): name the manifest that all other installs get with --otherwise FILE")
      }
      read.rollout = Rollout(percent: percent, salt: read.rollout?.salt ?? read.release)
    } else {
      read.endRollout()
    }
    try OutputFile.write(Data(try read.fileBytes()), to: manifest)
    if json {
      return try JSONOutput.print([
        "manifest": manifest, "release": read.release, "percent": min(percent, 100), "otherwise": read.otherwise?.url,
      ])
    }
    Terminal.output.line(
      percent < 100
        ? "\(manifest): release \(read.release) for \(Self.text(percent)) % of the installs, \(read.otherwise?.url ?? "") for the others"
        : "\(manifest): release \(read.release) for all installs")
  }

  private func reference(to path: String, from read: Manifest) throws -> ManifestReference {
    let (other, digest) = try InputFile.read(path) { (try Manifest(reading: $0), try SHA256Digest(of: $0)) }
    guard other.rollout == nil else {
      throw DescribedError("\(path) is rolled out itself: name a manifest that all installs can get")
    }
    guard other.sequence < read.sequence else {
      throw DescribedError(
        "\(path) has the sequence \(other.sequence), it must be lower than \(read.sequence) of \(manifest)")
    }
    let url = otherwiseURL ?? path.path(fromFolderOf: manifest)
    return ManifestReference(url: url, sha256: digest)
  }

  private static func text(_ percent: Double) -> String {
    percent == percent.rounded() ? "\(Int(percent))" : "\(percent)"
  }
}
