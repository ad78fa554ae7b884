import Bundles
import Foundation
import HTTPTransport
import ObjectStorage
import Signing

/// Publishes the release in a folder: first the contents that are missing, then its manifest, and last the pointer, which
/// switches to it.
///
/// A publication that ends in the middle changes nothing for hosts, and the next one goes on with what is there.
package struct FolderPublication: Sendable {
  package struct Options: Sendable {
    /// The `base` of the manifest; `nil` for that of the folder's own manifest, or of the release before.
    package var base: String?
    /// The release's name; `nil` for today's date and the sequence.
    package var release: String?
    /// The share of installs that get the release, in percent; `nil` for all, or for the present one of an unchanged
    /// release.
    package var percent: Double?
    /// `true` if nobody else publishes at the same time: conditions are not asked for.
    package var isAlone = false
    /// The keys that sign: it is checked that hosts count them before anything is uploaded.
    package var signers: [VerificationKey] = []
    /// `true` if another host signs the status of what is published.
    package var statusIsElsewhere = false

    package init() {}
  }

  /// Signs a manifest: returns its bytes and those of its signature file.
  package typealias Signing = @Sendable (Manifest) async throws -> (bytes: [UInt8], signatures: [UInt8])

  /// The progress of the uploads.
  package struct Progress: Hashable, Sendable {
    package var contents = 0
    package var bytes: Int64 = 0
    package var allContents = 0
    package var allBytes: Int64 = 0
  }

  package struct Report: Hashable, Sendable {
    package let release: String
    package let sequence: Int64
    /// `false` if the same release was published already, in the same way.
    package let isChanged: Bool
    package var uploaded = 0
    package var uploadedBytes: Int64 = 0
    /// Contents that a former publication has left, which was not finished.
    package var found = 0
    /// Contents of former releases.
    package var reused = 0
    package var deltas = 0
    package var deltaBytes: Int64 = 0
    /// The release that was current; `nil` if there was none, or it is the same.
    package var former: String?
  }

  /// The number of uploads at once.
  private static let width = 8
  /// The number of former releases whose contents are not uploaded again.
  private static let knownReleases = 5
  /// The number of times that a publication begins anew since a collection ran meanwhile.
  private static let attempts = 5

  private let folder: String
  private let releases: PublishedReleases
  private let options: Options
  private let sign: Signing?

  /// - Parameters:
  ///   - folder: its `manifest.json`, if there is one, has settings of entries, as for `manifest build`.
  ///   - sign: `nil` to publish without signatures.
  package init(_ folder: String, to releases: PublishedReleases, options: Options = Options(), sign: Signing? = nil) {
    (self.folder, self.releases, self.options, self.sign) = (folder, releases, options, sign)
  }

  private var store: S3Store { releases.store }

  /// - Throws: ``PublishError``, ``FolderError``, ``ManifestError``, ``ObjectStoreError``, ``TransportError``, errors of
  ///   signing, `CancellationError`.
  package func publish(_ progress: @escaping @Sendable (Progress) -> Void = { _ in }) async throws -> Report {
    if !options.isAlone, releases.keeper == nil, try await !store.supportsConditions() {
      throw PublishError.noConditions(store.location)
    }
    var attempt = 1
    while true {
      let state = try await releases.state()
      do {
        return try await publish(after: state, progress)
      } catch PublishError.overtaken(let url, let name) {
        attempt += 1
        // A collection changes names, and leaves the current release as it is.
        guard attempt <= Self.attempts, let state,
          try await releases.state()?.pointer.current == state.pointer.current
        else { throw PublishError.overtaken(url, by: name) }
      }
    }
  }

  private func publish(
    after state: PublishedReleases.State?, _ progress: @escaping @Sendable (Progress) -> Void
  ) async throws -> Report {
    let pointer = state?.pointer
    var published: [Manifest] = []
    for release in pointer?.releases.prefix(Self.knownReleases) ?? [] {
      published.append(try await releases.manifest(release.manifest))
    }
    let signatures = "\(folder)/manifest.json\(SignatureFile.suffix)"
    if sign == nil, FileManager.default.fileExists(atPath: signatures) { throw PublishError.signedFolder(signatures) }
    let draft = try ReleaseDraft(
      folder: folder, options: options, current: published.first, in: pointer, now: releases.now())
    var plan = PublishPlan(draft.manifest, published: published, collections: pointer?.collections ?? 0)
    var report = Report(
      release: draft.manifest.release, sequence: draft.manifest.sequence, isChanged: draft.isChanged)
    if !draft.isChanged, sign == nil { return report }

    let checks = SignedPublication(
      folder: folder, releases: releases, signers: options.signers, statusIsElsewhere: options.statusIsElsewhere)
    let root = sign == nil ? nil : try await checks.newestRoot()
    report.reused = Set((plan.manifest.bundles + plan.manifest.files).compactMap(\.sha256)).count - plan.missing.count
    try await upload(plan.missing, &report, progress)
    if let current = published.first { try await addDeltas(from: current, to: &plan, &report) }

    let bytes: [UInt8]
    var signatureFile: [UInt8]?
    if let sign {
      (bytes, signatureFile) = try await sign(plan.manifest)
    } else {
      bytes = try plan.manifest.fileBytes()
    }
    let digest = try SHA256Digest(of: bytes)
    let reference = ManifestReference(
      url: PublishedNames.manifest(with: digest, after: pointer?.collections ?? 0), sha256: digest)
    if let signatureFile {
      try checks.check(bytes, signatureFile, by: root, after: published.first)
      try await publishRoots()
      try await write(reference.url + SignatureFile.suffix, signatureFile)
    }
    try await write(reference.url, bytes)
    let release = ReleasePointer.Release(
      release: plan.manifest.release, sequence: plan.manifest.sequence, manifest: reference,
      publishedAt: SignedTime(seconds: Int64(releases.now().timeIntervalSince1970)).description)
    var next = pointer ?? ReleasePointer(current: release)
    next.switchTo(release)
    try await releases.replace(state, with: next, isAlone: options.isAlone)
    report.former = pointer?.current.release == release.release ? nil : pointer?.current.release
    return report
  }

  /// Writes a small file that never changes.
  private func write(_ key: String, _ bytes: [UInt8]) async throws {
    try await store.write(key, .bytes(bytes), type: "application/json", lifetime: .forever)
  }

  /// Publishes the roots in the folder, each with its signatures.
  private func publishRoots() async throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    for name in names.sorted() where PublishedRoot.version(ofFile: name) != nil {
      for file in [name + SignatureFile.suffix, name] {
        if let data = FileManager.default.contents(atPath: "\(folder)/\(file)") { try await write(file, Array(data)) }
      }
    }
  }

  // MARK: Contents

  private func upload(
    _ missing: [PublishPlan.Missing], _ report: inout Report, _ progress: @escaping @Sendable (Progress) -> Void
  ) async throws {
    var state = Progress(allContents: missing.count, allBytes: missing.reduce(0) { $0 + $1.digests.size })
    progress(state)
    try await withThrowingTaskGroup(of: (PublishPlan.Missing, wasThere: Bool).self) { group in
      var rest = missing[...]
      func addNext() {
        guard let next = rest.popFirst() else { return }
        group.addTask { (next, try await upload(next)) }
      }
      for _ in 0..<Self.width { addNext() }
      for try await (content, wasThere) in group {
        if wasThere {
          report.found += 1
        } else {
          report.uploaded += 1
          report.uploadedBytes += content.digests.size
        }
        state.contents += 1
        state.bytes += content.digests.size
        progress(state)
        addNext()
      }
    }
  }

  /// - Returns: `true` if the store had it already.
  private func upload(_ content: PublishPlan.Missing) async throws -> Bool {
    let key = PublishedNames.blobs + content.name
    let digests = content.digests
    if let known = try await store.properties(of: key), known.size == digests.size, known.md5 == digests.md5 {
      return true
    }
    let tag = try await store.write(
      key, .file(path: "\(folder)/\(content.path)", size: digests.size, sha256: digests.sha256),
      type: content.kind == .bundle ? "text/javascript" : "application/octet-stream", lifetime: .forever)
    // Some stores give other tags than the MD5.
    if S3Store.md5(ofTag: tag) != digests.md5 { try await check(key, digests) }
    return false
  }

  /// Reads an object back.
  private func check(_ key: String, _ digests: ContentDigests) async throws {
    let url = releases.url(of: key)
    guard let object = try await store.object(key, upTo: digests.size) else { throw PublishError.missing(url) }
    let found = try SHA256Digest(of: object.bytes)
    guard found == digests.sha256 else { throw PublishError.otherBytes(url, expected: digests.sha256, found: found) }
  }

  // MARK: Deltas

  /// Publishes the differences of new contents from those that the current release has for the same entries.
  private func addDeltas(from current: Manifest, to plan: inout PublishPlan, _ report: inout Report) async throws {
    let names = PublishPlan.names(of: [current])
    let new = Dictionary(plan.missing.map { ($0.digests.sha256, $0) }, uniquingKeysWith: { first, _ in first })
    for list in [\Manifest.bundles, \.files] {
      let former = Dictionary(current[keyPath: list].map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
      for index in plan.manifest[keyPath: list].indices {
        let entry = plan.manifest[keyPath: list][index]
        guard let base = former[entry.name]?.sha256, let target = entry.sha256, base != target,
          let content = new[target], let name = names[base],
          let delta = try await delta(to: content, from: base, named: name)
        else { continue }
        plan.manifest[keyPath: list][index].deltas[base] = Int64(delta.count)
        try await store.write(
          PublishedNames.blobs + Manifest.deltaPath(to: target, from: base), .bytes(delta),
          type: "application/octet-stream", lifetime: .forever)
        report.deltas += 1
        report.deltaBytes += Int64(delta.count)
      }
    }
  }

  private func delta(
    to content: PublishPlan.Missing, from base: SHA256Digest, named name: String
  ) async throws -> [UInt8]? {
    guard content.digests.size > 0, content.digests.size <= ContentDictionary.sizeLimit,
      let former = try? await store.object(PublishedNames.blobs + name, upTo: Int64(ContentDictionary.sizeLimit)),
      try SHA256Digest(of: former.bytes) == base,
      let data = FileManager.default.contents(atPath: "\(folder)/\(content.path)")
    else { return nil }
    return DeltaBuilder.delta(of: Array(data), from: former.bytes, digest: base)
  }
}
