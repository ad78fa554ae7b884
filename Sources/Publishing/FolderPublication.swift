import Foundation
import HTTPTransport
import Releases

/// Publishes the release in a folder: first the contents that are missing, then its manifest, and last the pointer, which
/// switches to it.
///
/// A publication that ends in the middle changes nothing for hosts, and the next one goes on with the objects that are there.
package struct FolderPublication: Sendable {
  package struct Options: Sendable {
    /// The `base` of the manifest; `nil` for that of the folder's own manifest, or of the release before.
    package var base: String?
    /// The release's name; `nil` for today's date and the sequence.
    package var release: String?
    /// The share of installs that get the release, in percent; `nil` for all, or for the present one of an unchanged
    /// release.
    package var percent: Double?
    /// `true` if there is no other publisher at the same time: conditions are not asked for.
    package var isAlone = false
    /// The keys that sign: it is checked that hosts count them before anything is uploaded.
    package var signers: [VerificationKey] = []
    /// `true` if another host signs the status of the published release.
    package var statusIsElsewhere = false
    /// Looks at a new release before anything of it is written; `nil` for none.
    package var gate: Gate?

    package init() {}
  }

  /// Looks at a release, and throws to refuse it.
  ///
  /// - Parameters:
  ///   - manifest: lists the folder's contents.
  ///   - current: the manifest of the current release; `nil` if there is none.
  ///   - content: returns a content of the current release.
  package typealias Gate =
    @Sendable (
      _ manifest: Manifest, _ current: Manifest?,
      _ content: @escaping @Sendable (Manifest.Entry) async throws -> [UInt8]
    ) async throws -> Void

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

  let folder: String
  let releases: PublishedReleases
  let options: Options
  private let sign: Signing?

  /// - Parameters:
  ///   - folder: its `manifest.json`, if there is one, has settings of entries, as for `manifest build`.
  ///   - sign: `nil` to publish without signatures.
  package init(_ folder: String, to releases: PublishedReleases, options: Options = Options(), sign: Signing? = nil) {
    (self.folder, self.releases, self.options, self.sign) = (folder, releases, options, sign)
  }

  private var store: S3Store { releases.store }

  /// - Throws: ``PublishError``, ``DescribedError``, ``ManifestError``, ``ObjectStoreError``, ``TransportError``, errors of
  ///   signing and of the gate, `CancellationError`.
  package func publish(_ progress: @escaping @Sendable (Progress) -> Void = { _ in }) async throws -> Report {
    if !options.isAlone, releases.keeper == nil, try await !store.supportsConditions() {
      throw PublishError.noConditions(store.location)
    }
    try await releases.copyPointer()
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
    let (current, published, lost) = try await manifests(of: pointer)
    let signatures = "\(folder)/manifest.json\(SignatureFile.suffix)"
    if sign == nil, FileManager.default.fileExists(atPath: signatures) { throw PublishError.signedFolder(signatures) }
    let draft = try ReleaseDraft(
      folder: folder, options: options, current: current, in: pointer, now: releases.now())
    var plan = PublishPlan(draft.manifest, published: published, collections: pointer?.collections ?? 0)
    var report = Report(
      release: draft.manifest.release, sequence: draft.manifest.sequence, isChanged: draft.isChanged)
    let root = sign == nil ? nil : try await newestRoot()
    if draft.isChanged, let gate = options.gate {
      try await gate(draft.manifest, current, content(of: current))
    }
    try await restore(plan.reused, &report)
    if !draft.isChanged, sign == nil { return report }

    try await upload(plan.missing, &report, progress)
    if let current { try await addDeltas(from: current, to: &plan, &report) }

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
      try checkForHosts(bytes, signatureFile, by: root, after: current)
      try await publishRoots()
      try await write(reference.url + SignatureFile.suffix, signatureFile)
    }
    try await write(reference.url, bytes)
    let release = ReleasePointer.Release(
      release: plan.manifest.release, sequence: plan.manifest.sequence, manifest: reference,
      publishedAt: SignedTime(seconds: Int64(releases.now().timeIntervalSince1970)).description)
    var next = pointer ?? ReleasePointer(current: release)
    next.switchTo(release)
    // A release without its manifest cannot be gone back to.
    next.former.removeAll { lost.contains($0.manifest) }
    try await releases.replace(state, with: next, isAlone: options.isAlone)
    report.former = pointer?.current.release == release.release ? nil : pointer?.current.release
    return report
  }

  /// Reads contents of a published release.
  private func content(of release: Manifest?) -> @Sendable (Manifest.Entry) async throws -> [UInt8] {
    let names = PublishPlan.names(of: release.map { [$0] } ?? [])
    return { [store, releases] entry in
      guard let name = entry.sha256.flatMap({ names[$0] }),
        let object = try await store.object(PublishedNames.blobs + name, upTo: releases.limits.fileBytes)
      else { throw DescribedError("\(store.location) has no content of \(entry.path.quotedForMessage)") }
      return object.bytes
    }
  }

  /// Reads the manifests of the newest releases.
  ///
  /// - Returns: the current one, if it is there; all that are there; and those that somebody has removed from the store.
  private func manifests(
    of pointer: ReleasePointer?
  ) async throws -> (current: Manifest?, published: [Manifest], lost: Set<ManifestReference>) {
    var (current, published, lost): (Manifest?, [Manifest], Set<ManifestReference>) = (nil, [], [])
    for release in pointer?.releases.prefix(Self.knownReleases) ?? [] {
      do {
        let manifest = try await releases.manifest(release.manifest)
        if release == pointer?.current { current = manifest }
        published.append(manifest)
      } catch PublishError.missing {
        lost.insert(release.manifest)
      }
    }
    return (current, published, lost)
  }

  /// Writes a small file that never changes.
  private func write(_ key: String, _ bytes: [UInt8]) async throws {
    try await releases.write(json: bytes, key, lifetime: .forever)
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
    _ missing: [PublishPlan.Content], _ report: inout Report, _ progress: @escaping @Sendable (Progress) -> Void
  ) async throws {
    var state = Progress(allContents: missing.count, allBytes: missing.reduce(0) { $0 + $1.digests.size })
    progress(state)
    try await uploading(missing, unless: { $0.size == $1.size && $0.md5 == $1.md5 }) { content, wasThere in
      if wasThere {
        report.found += 1
      } else {
        report.uploaded += 1
        report.uploadedBytes += content.digests.size
      }
      state.contents += 1
      state.bytes += content.digests.size
      progress(state)
    }
  }

  /// Uploads the contents of former releases that somebody has removed from the store, under the names that they had.
  private func restore(_ contents: [PublishPlan.Content], _ report: inout Report) async throws {
    // Not by the tag: stores that encrypt give another one than the MD5, and all would be uploaded each time.
    try await uploading(contents, unless: { $0.size == $1.size || $0.size == nil }) { content, wasThere in
      if wasThere {
        report.reused += 1
      } else {
        report.uploaded += 1
        report.uploadedBytes += content.digests.size
      }
    }
  }

  /// Uploads contents, some of them at once.
  ///
  /// - Parameters:
  ///   - isThere: returns `true` if an object with these properties is the content with these digests.
  ///   - done: is called after each content.
  private func uploading(
    _ contents: [PublishPlan.Content],
    unless isThere: @escaping @Sendable (S3Store.Properties, ContentDigests) -> Bool,
    done: (_ content: PublishPlan.Content, _ wasThere: Bool) -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: (PublishPlan.Content, wasThere: Bool).self) { group in
      var rest = contents[...]
      func addNext() {
        guard let next = rest.popFirst() else { return }
        group.addTask {
          let key = PublishedNames.blobs + next.name
          if let known = try await store.properties(of: key), isThere(known, next.digests) { return (next, true) }
          try await releases.write(
            key, .file(path: "\(folder)/\(next.path)", size: next.digests.size, sha256: next.digests.sha256),
            next.digests, type: next.kind == .bundle ? "text/javascript" : "application/octet-stream",
            lifetime: .forever)
          return (next, false)
        }
      }
      for _ in 0..<Self.width { addNext() }
      for try await (content, wasThere) in group {
        done(content, wasThere)
        addNext()
      }
    }
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
        try await releases.write(
          PublishedNames.blobs + Manifest.deltaPath(to: target, from: base), .bytes(delta),
          try ContentDigests(of: delta), type: "application/octet-stream", lifetime: .forever)
        report.deltas += 1
        report.deltaBytes += Int64(delta.count)
      }
    }
  }

  private func delta(
    to content: PublishPlan.Content, from base: SHA256Digest, named name: String
  ) async throws -> [UInt8]? {
    guard content.digests.size > 0, content.digests.size <= ContentDictionary.sizeLimit,
      let former = try? await store.object(PublishedNames.blobs + name, upTo: Int64(ContentDictionary.sizeLimit)),
      try SHA256Digest(of: former.bytes) == base,
      let data = FileManager.default.contents(atPath: "\(folder)/\(content.path)")
    else { return nil }
    return DeltaBuilder.delta(of: Array(data), from: former.bytes, digest: base)
  }
}
