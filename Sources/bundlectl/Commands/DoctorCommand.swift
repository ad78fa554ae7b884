import ArgumentParser
import Foundation
import HTTPTypes
import PageKit
import PageWorkers
import Publishing
import Releases

struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract:
      "Check the requirements of a preload: store, space, releases, server, manifest, clock, script engine, what draws pages, libraries."
  )
  .with(
    examples: "bundlectl doctor --manifest https://pages.example.com/manifest.json",
    "bundlectl doctor --releases s3://pages/app")

  @OptionGroup var source: SourceOptions
  @OptionGroup var store: StoreOptions

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A place for \"bundlectl publish\", s3://BUCKET/PREFIX: if it can be written, and what is published there.",
      valueName: "location"))
  var releases: String?

  private static let leastSpace: Int64 = 100 << 20
  /// The tolerance: HTTP dates have seconds, and a larger difference affects caches.
  private static let clockTolerance: Double = 60

  func run() async throws {
    var checks: [Check] = []
    let opened = checkStore(&checks)
    checkSpace(opened, &checks)
    checks += await checkReleases(opened)
    let server = await checkServer(opened, &checks)
    let (manifest, signatures) = await checkManifest(opened)
    checks += [manifest, signatures]
    if let releases { checks.append(await checkPublished(releases)) }
    checkClock(serverTime: server, &checks)
    checks += [Self.engine, Self.pictures]
    checks.append(Check(name: "libraries", ok: true, detail: PageHost.libraries.joined(separator: ", ")))

    let isWell = !checks.contains { $0.ok == false }
    if store.json {
      let entries: [JSONObject] = checks.map { ["name": $0.name, "ok": $0.ok, "detail": $0.detail] }
      try JSONOutput.print(["ok": isWell, "checks": entries])
    } else {
      let terminal = Terminal.output
      for check in checks {
        let mark =
          switch check.ok {
          case true?: terminal.styled("✓", .green)
          case false?: terminal.styled("✗", .red)
          case nil: terminal.styled("–", .yellow)
          }
        terminal.line("\(mark) \(Formatting.fitted(check.name, 9))  \(check.detail)")
      }
    }
    if !isWell { throw ExitCode.failure }
  }

  /// Pages need the engine; everything else does without.
  private static var engine: Check {
    let problem = ScriptGroup.engineProblem
    return Check(
      name: "pages", ok: problem == nil ? true : nil,
      detail: problem.map { "cannot run here: \($0)" } ?? "can run: JavaScriptCore is installed")
  }

  /// Only pictures of pages need these libraries.
  private static var pictures: Check {
    let problems = SystemFonts.problems
    return Check(
      name: "pictures", ok: problems.isEmpty ? true : nil,
      detail: problems.isEmpty
        ? "pages can be drawn, with JPEG, WebP, GIF and SVG pictures in them" : problems.joined(separator: "; "))
  }

  struct Check: Sendable {
    let name: String
    /// `nil` for checks that did not run.
    let ok: Bool?
    let detail: String
  }

  private func checkStore(_ checks: inout [Check]) -> BundleStore? {
    do {
      try store.check()
      let opened = try BundleStore(at: store.directory, logger: store.logger)
      checks.append(Check(name: "store", ok: true, detail: "\(store.directory.path) can be written"))
      return opened
    } catch {
      checks.append(Check(name: "store", ok: false, detail: error.message))
      return nil
    }
  }

  private func checkSpace(_ opened: BundleStore?, _ checks: inout [Check]) {
    guard let available = try? opened?.availableBytes() else { return }
    let isEnough = available >= Self.leastSpace
    checks.append(
      Check(name: "space", ok: isEnough, detail: "\(Formatting.bytes(available)) left\(isEnough ? "" : ": free some")"))
  }

  /// Names the servers' releases that are bad on this device.
  private func checkReleases(_ opened: BundleStore?) async -> [Check] {
    var checks: [Check] = []
    for source in (try? await opened?.sources()) ?? [] {
      guard let release = source.incoming, let bad = try? await opened?.badRelease(release) else { continue }
      checks.append(
        Check(name: "release", ok: false, detail: "\(bad): publish another one, or see \"bundlectl release mark\""))
    }
    return checks
  }

  /// Checks that releases can be published to a location, also by several people.
  private func checkPublished(_ location: String) async -> Check {
    do {
      let (published, isConditional) = try await LocationOptions.using(location, caFile: source.caFile) { releases in
        (try await releases.state()?.pointer, try await releases.store.supportsConditions())
      }
      let current = published.map { "release \($0.current.release) is current" } ?? "nothing is published yet"
      return Check(
        name: "releases", ok: isConditional,
        detail: isConditional
          ? "\(location) can be written, and \(current)"
          : "\(location): the store does not refuse a write whose If-Match does not hold: several people may publish with --journal, and only one at a time with --alone"
      )
    } catch {
      return Check(name: "releases", ok: false, detail: error.message)
    }
  }

  /// The server's time, if it sends one.
  private func checkServer(_ opened: BundleStore?, _ checks: inout [Check]) async -> HTTPDate? {
    do {
      guard let url = try await serverURL(opened) else {
        checks.append(Check(name: "server", ok: nil, detail: "not checked: give a manifest with --manifest URL"))
        return nil
      }
      let fields = OriginFields(try source.fields(), for: url)
      let (check, date) = try await CurlTransport.using(.init(certificateAuthorities: source.caFile)) { transport in
        let response = try await OriginClient(transport, fields: fields)
          .send(.get, url, bodyLimit: ManifestLimits.standard.manifestBytes)
        for try await _ in response.body {}
        let timings = await response.body.transferSummary()
        let check = Check(
          name: "server", ok: response.head.status == .ok,
          detail:
            "\(url) answers \(response.head.status.code) after \(Formatting.seconds(timings.firstByte.seconds)) (HTTP/\(timings.httpVersion ?? "?"))"
        )
        return (check, response.head.headerFields[.date])
      }
      checks.append(check)
      return date.flatMap { HTTPDate($0, now: .now) }
    } catch {
      checks.append(Check(name: "server", ok: false, detail: error.message))
      return nil
    }
  }

  /// The check of a source for which no root is given.
  private static let unsigned = Check(
    name: "signed", ok: nil,
    detail:
      "not asked for: whoever controls the server, or the way to it, decides what runs. Name the keys with --root FILE")

  /// Requests and reads the manifest, and its signatures, as a preload does.
  private func checkManifest(_ opened: BundleStore?) async -> (manifest: Check, signatures: Check) {
    var signatures = source.root == nil ? Self.unsigned : Check(name: "signed", ok: nil, detail: "not checked")
    do {
      var url = try source.manifest.map { try PageURL(manifestArgument: $0) }
      if url == nil { url = try await opened?.sources().first?.url }
      guard let url else {
        let manifest = Check(name: "manifest", ok: nil, detail: "not checked: give one with --manifest URL|FILE")
        return (manifest, signatures)
      }
      let fields = OriginFields(try source.fields(), for: url)
      let read = try await CurlTransport.using(.init(certificateAuthorities: source.caFile)) { transport in
        let client = OriginClient(transport, fields: fields)
        let fetcher = ManifestFetcher(source: url, client: client)
        guard case .manifest(let fetched, _) = try await fetcher.fetch() else {
          throw SourceError.notStored(url)
        }
        return fetched
      }
      let (bundles, files) = (read.manifest.bundles.count, read.manifest.files.count)
      if let root = source.root { signatures = await checkSignatures(of: read, from: url, root: root) }
      let manifest = Check(
        name: "manifest", ok: true,
        detail:
          "release \(read.manifest.release): \(Formatting.count(bundles, "bundle")), \(Formatting.count(files, "file"))"
      )
      return (manifest, signatures)
    } catch {
      return (Check(name: "manifest", ok: false, detail: error.message), signatures)
    }
  }

  private func checkSignatures(of read: FetchedManifest, from source: PageURL, root: String) async -> Check {
    do {
      let reader = ManifestReader(header: self.source.header, caFile: self.source.caFile)
      let newest = try await reader.signedFiles(of: source).newestRoot(from: try TrustRoot(file: root))
      let span = try ManifestTrust(root: newest, freshFor: self.source.freshFor?.duration).check(
        read.manifest, read.bytes, try await reader.signedFiles(of: read.url).signatureFile(), after: nil, at: .now)
      return Check(name: "signed", ok: true, detail: "by the keys of root \(newest.version), until \(span.expires)")
    } catch {
      return Check(name: "signed", ok: false, detail: error.message)
    }
  }

  private func serverURL(_ opened: BundleStore?) async throws -> PageURL? {
    if let manifest = source.manifest {
      let url = try PageURL(manifestArgument: manifest)
      return url.isFile ? nil : url
    }
    return try await opened?.sources().map(\.url).first { !$0.isFile }
  }

  private func checkClock(serverTime: HTTPDate?, _ checks: inout [Check]) {
    let now = HTTPDate.now
    guard let serverTime else {
      checks.append(Check(name: "clock", ok: nil, detail: "\(now); no server to compare it with"))
      return
    }
    let difference = Double(now.secondsSinceEpoch - serverTime.secondsSinceEpoch)
    let ok = abs(difference) <= Self.clockTolerance
    let detail =
      ok
      ? "\(now), the same as the server's"
      : "\(now) is \(Formatting.seconds(abs(difference))) \(difference > 0 ? "ahead of" : "behind") the server's: set the clock"
    checks.append(Check(name: "clock", ok: ok, detail: detail))
  }
}
