import ArgumentParser
import Foundation
import PageKit
import PageWorkers
import Publishing
import Releases
import Synchronization

struct PublishCommand: JSONCommand {
  static let configuration = CommandConfiguration(
    commandName: "publish",
    abstract: "Publish a folder as a release in an object store.",
    discussion: """
      Contents that are missing there are uploaded first, then the manifest, and last current.json, which switches to \
      it: hosts that follow it see one whole release or the other. If somebody else has published meanwhile, nothing \
      changes. A command that was interrupted goes on where it was when it runs again.

      Hosts of a fleet with a journal are told at once, others look within a minute.

      Hosts and devices follow LOCATION's current.json as their manifest. All other files never change.

      DIR's manifest.json, if there is one, has the settings of entries, as for "manifest build"; with signatures its \
      *.root.json are published too. What hosts with keys would refuse, such as a root that too few keys have signed, \
      is refused before anything is uploaded.

      With --gate, every page runs in a confined process first, beside the same page of the current release. \
      \(GateOptions.discussion)

      \(LocationOptions.discussion)
      """
  )
  .with(
    examples: "bundlectl publish dist s3://pages/app --release 2026.11.27-1",
    "bundlectl publish dist s3://pages/app --gate --report junit=gate.xml")

  @Argument(help: ArgumentHelp("The folder.", valueName: "dir"), completion: .directory)
  var folder: String

  @OptionGroup var location: LocationOptions

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The base of the pages' URLs.",
      discussion: "Default: that of DIR's manifest or of the release before, or else LOCATION.", valueName: "url"))
  var base: String?

  @Option(
    name: .long,
    help: ArgumentHelp("The release's name.", discussion: "Default: today's date and the sequence.", valueName: "name"))
  var release: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The share of installs that get the release, in percent.",
      discussion: "The others stay with the release before. Publish again with a higher share to go on.",
      valueName: "n"))
  var percent: Double?

  @OptionGroup var signing: SigningOptions

  @Option(
    name: .long,
    help: ArgumentHelp("With a key: how long hosts may use the manifest, such as 30d.", valueName: "time"))
  var expiresIn: TimeArgument?

  @Flag(
    name: .long,
    help: "Another host signs the status that a root with the role \"online\" asks for, and passes both on.")
  var statusElsewhere = false

  @OptionGroup var pointer: PointerOptions
  @OptionGroup var gate: GateOptions

  func validate() throws {
    if let percent, !(0...100).contains(percent) { throw ValidationError("--percent must be from 0 to 100.") }
    if signing.isEmpty != (expiresIn == nil) {
      throw ValidationError("A key that signs, and --expires-in, need each other.")
    }
  }

  var json: Bool { location.json }

  func perform() async throws {
    var options = FolderPublication.Options()
    (options.base, options.release, options.percent) = (base, release, percent)
    options.isAlone = pointer.alone
    options.signers = try signing.verificationKeys()
    options.statusIsElsewhere = statusElsewhere
    let gateReport = GateReportBox()
    if gate.mode != nil { options.gate = passGate(gateReport) }
    let lines = location.json ? nil : DrawnLines(.error)
    let (folder, sign) = (folder, sign)
    let journal = try pointer.openJournal()
    let report = try await location.using(journal) { [options] releases in
      try await FolderPublication(folder, to: releases, options: options, sign: sign).publish { progress in
        if progress.allContents > 0 { lines?.draw([Self.line(progress)]) }
      }
    }
    lines?.erase()
    // It may be the publication of a command that was interrupted before it told them.
    await PointerOptions.announce(report.release, in: journal)
    try show(report, gateReport.report.withLock(\.self))
  }

  /// The report of the gate, which looks at a release while it is published.
  private final class GateReportBox: Sendable {
    let report = Mutex<GateReport?>(nil)
  }

  private func passGate(_ box: GateReportBox) -> FolderPublication.Gate {
    { [gate, folder, json] manifest, current, content in
      guard let url = PageURL(filePath: "\(folder)/manifest.json") else {
        throw DescribedError("\(folder) cannot be written as a URL")
      }
      let former = try current.map { try GateRelease($0, at: url, read: content) }
      let report = try await gate.pass(
        try GateRelease(manifest, of: folder, at: url), beside: former, settingsIn: folder, json: json)
      box.report.withLock { $0 = report }
    }
  }

  private var sign: FolderPublication.Signing? {
    guard let expiresIn else { return nil }
    return { [signing] manifest in
      var manifest = manifest
      let now = SignedTime.now
      manifest.setTimes(signed: now, expires: now.advanced(by: expiresIn.duration))
      try manifest.checkSignable()
      let bytes = try manifest.fileBytes()
      var file = try SignatureFile(of: bytes, as: .manifest)
      _ = try await signing.sign(bytes, as: .manifest, in: &file)
      return (bytes, try file.encoded())
    }
  }

  /// The progress of the uploads.
  private static func line(_ progress: FolderPublication.Progress) -> String {
    let done = progress.allBytes > 0 ? Double(progress.bytes) / Double(progress.allBytes) : 1
    return
      "\(Formatting.bar(done, width: 20))  \(progress.contents) of \(progress.allContents)  \(Formatting.bytes(progress.bytes)) of \(Formatting.bytes(progress.allBytes))"
  }

  private func show(_ report: FolderPublication.Report, _ gate: GateReport?) throws {
    if location.json {
      let object: JSONObject = [
        "location": location.location, "release": report.release, "sequence": report.sequence,
        "former": report.former, "isChanged": report.isChanged, "uploaded": report.uploaded, "found": report.found,
        "reused": report.reused, "deltas": report.deltas, "uploadedBytes": report.uploadedBytes,
        "deltaBytes": report.deltaBytes,
      ]
      return try JSONOutput.print(object.adding(ifPresent: ["gate": gate?.json]))
    }
    let terminal = Terminal.output
    guard report.isChanged || report.uploaded > 0 || !signing.isEmpty else {
      return terminal.line("release \(report.release) is published already")
    }
    var parts = ["\(Formatting.count(report.uploaded, "content")) uploaded, \(Formatting.bytes(report.uploadedBytes))"]
    if report.reused + report.found > 0 { parts.append("\(report.reused + report.found) there already") }
    if report.deltas > 0 {
      parts.append("\(Formatting.count(report.deltas, "delta")) of \(Formatting.bytes(report.deltaBytes))")
    }
    terminal.line(parts.joined(separator: ", "))
    let instead = report.former.map { ", in the place of \($0)" } ?? ""
    terminal.line("\(terminal.styled("✓", .green)) release \(report.release) is current now\(instead)")
  }
}
