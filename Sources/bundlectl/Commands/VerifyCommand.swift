import ArgumentParser
import PageKit
import PageWorkers

struct VerifyCommand: JSONCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check the stored bytes of every bundle.",
    discussion: "Reads and digests every stored file of the current releases, whether or not it was checked before."
  )
  .with(examples: "bundlectl verify", "bundlectl verify --server --repair")

  @Flag(name: .long, help: "Also ask the server for its MD5s and compare.")
  var server = false

  @Flag(name: .long, help: "Quarantine corrupt files, and fetch corrupt and missing ones again.")
  var repair = false

  @OptionGroup var source: SourceOptions
  @OptionGroup var store: StoreOptions

  var json: Bool { store.json }

  func perform() async throws {
    try store.check()
    let output = try await verify()
    if store.json { try JSONOutput.print(output) } else { show(output) }
    if !output.isWell { throw ExitCode.failure }
  }

  private func verify() async throws -> VerifyOutput {
    var output = VerifyOutput()
    guard let opened = try store.reading() else {
      // The database may be empty yet.
      guard store.directory.hasStore else { throw StoreError.absent(path: store.directory.path) }
      return output
    }
    let sources =
      try await source.manifest == nil ? opened.sources() : [StoredSource.chosen(source.manifest, in: opened)]
    for stored in sources {
      try await verify(stored, in: opened, &output)
    }
    return output
  }

  private func verify(_ stored: StoredSource, in opened: BundleStore, _ output: inout VerifyOutput) async throws {
    guard let release = stored.current ?? stored.incoming else { return }
    let contents = try await opened.recordedContents(of: release)
    var faulty: [(bundle: PageBundle, blob: Blob?)] = []
    for entry in contents {
      guard let blob = entry.blob else {
        // Bundles of an incoming release, on-demand ones and optional ones do not count as missing.
        if stored.current != nil, entry.bundle.preload != .demand, !entry.bundle.isOptional {
          output.checked += 1
          output.missing.append(entry.bundle.name)
          faulty.append((entry.bundle, nil))
        }
        continue
      }
      output.checked += 1
      do {
        try await opened.check(blob)
        output.ok += 1
      } catch BlobError.missing {
        output.missing.append(entry.bundle.name)
        faulty.append((entry.bundle, blob))
      } catch is BlobError {
        output.corrupt.append(entry.bundle.name)
        faulty.append((entry.bundle, blob))
      }
    }
    guard server || repair && !faulty.isEmpty else { return }
    var configuration = try source.configuration(store, manifest: stored.url)
    configuration.storage.allowsReadOnly = !repair
    output = try await PageHost.using(configuration) { [output] host in
      var output = output
      if server { await compare(contents, with: host, &output) }
      if repair {
        for (bundle, blob) in faulty { await mend(bundle, blob, release, host, &output) }
      }
      return output
    }
  }

  private func compare(_ contents: [StoredBundle], with host: PageHost, _ output: inout VerifyOutput) async {
    do {
      guard let verified = try await host.verifier?.verified() else { return }
      let served = Dictionary(
        try await host.store.recordedContents(of: verified.release).map { ($0.bundle.url, $0.bundle.md5) },
        uniquingKeysWith: { first, _ in first })
      output.serverDiffers += contents.map(\.bundle).filter { served[$0.url] != $0.md5 }.map(\.name)
    } catch {
      output.errors.append(error.message)
    }
  }

  private func mend(
    _ bundle: PageBundle, _ blob: Blob?, _ release: StoredRelease, _ host: PageHost, _ output: inout VerifyOutput
  ) async {
    do {
      if let blob { try await host.store.quarantine(blob) }
      _ = try await host.downloader.download(FetchTarget(bundle), for: release)
      output.repaired.append(bundle.name)
    } catch {
      output.errors.append(error.message)
    }
  }

  private func show(_ output: VerifyOutput) {
    let terminal = Terminal.output
    let lists = [
      ("corrupt", output.corrupt), ("missing", output.missing), ("the server differs", output.serverDiffers),
      ("repaired", output.repaired),
    ]
    for (what, names) in lists {
      for name in names { terminal.line("\(what): \(name)") }
    }
    for error in output.errors { Terminal.report(error, .red) }
    if output.checked == 0 { return terminal.line("nothing is stored, and nothing was checked") }
    let verdict = output.isWell ? terminal.styled("no problems", .green) : terminal.styled("problems found", .red)
    let repaired = Set(output.repaired).count
    let mended = repaired > 0 ? ", \(repaired) of them repaired" : ""
    terminal.line("\(output.ok + repaired) of \(output.checked) are intact\(mended); \(verdict)")
  }
}

/// The JSON of `verify`.
struct VerifyOutput: Encodable, Sendable {
  var checked = 0
  var ok = 0
  var corrupt: [String] = []
  var missing: [String] = []
  var serverDiffers: [String] = []
  var repaired: [String] = []
  var errors: [String] = []

  /// `true` if all problems were repaired.
  var isWell: Bool {
    errors.isEmpty && serverDiffers.isEmpty && Set(corrupt + missing).subtracting(repaired).isEmpty
  }
}
