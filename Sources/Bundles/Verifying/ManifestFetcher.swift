import Blobs
import Dispatch
import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Releases

/// Fetches a source's manifest: with one conditional GET, or from a file.
package struct ManifestFetcher: Sendable {
  let source: PageURL
  private let client: OriginClient
  private let limits: ManifestLimits
  private let retry: RetryPolicy
  private let sleep: @Sendable (Duration) async throws -> Void

  /// - Parameter sleep: waits between attempts.
  package init(
    source: PageURL, client: OriginClient, limits: ManifestLimits = .standard,
    retry: RetryPolicy = .standard,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) {
    self.source = source
    self.client = client
    self.limits = limits
    self.retry = retry
    self.sleep = sleep
  }

  package enum Answer: Sendable {
    /// The last manifest is still valid.
    case unchanged(Validators)
    /// A manifest, and the validators of the source's answer.
    case manifest(FetchedManifest, Validators)
  }

  /// - Parameters:
  ///   - validators: the validators of the stored manifest; empty for an unconditional request.
  /// - Throws: ``SourceError``, `CancellationError`.
  package func fetch(validators: Validators = Validators()) async throws -> Answer {
    do {
      return try await named(source.isFile ? try await readFile() : try await downloadPatiently(validators))
    } catch let error as CancellationError {
      throw error
    } catch let error as SourceError {
      throw error
    } catch let error as ManifestError {
      throw SourceError.badManifest(source, error)
    } catch let fault as HTTPFault where [404, 410].contains(fault.status) {
      throw SourceError.noManifest(source, status: fault.status)
    } catch {
      throw SourceError.unreachable(source, error)
    }
  }

  /// Fetches a manifest that the source's pointer or manifest names.
  ///
  /// - Parameter place: the URL of the pointer or manifest. A server does not name a file of this machine, although the
  ///   reference is relative to the source, which may be one.
  /// - Throws: ``SourceError``, `CancellationError`.
  func fetch(_ reference: ManifestReference, namedAt place: PageURL) async throws -> FetchedManifest {
    guard let url = source.resolving(reference.url) else {
      throw SourceError.noOtherManifest(source, url: reference.url)
    }
    guard place.mayName(url) else { throw SourceError.localFile(source, url: url) }
    guard let bytes = try await smallFile(at: url, limit: limits.manifestBytes) else {
      throw SourceError.noOtherManifest(source, url: reference.url)
    }
    let digest = try SHA256Digest(of: bytes)
    guard digest == reference.sha256 else {
      throw SourceError.otherBytes(source, url: url, expected: reference.sha256, found: digest)
    }
    do {
      return try await parse(bytes, at: url)
    } catch let error as ManifestError {
      throw SourceError.badManifest(url, error)
    }
  }

  private func readFile() async throws -> Answer {
    let path = source.filePath ?? source.text
    return try await parse(try RegularFile.contents(of: path, upTo: limits.manifestBytes), Validators())
  }

  private func downloadPatiently(_ validators: Validators) async throws -> Answer {
    client.activity.begin(source)
    defer { client.activity.end(source) }
    return try await retry.run(sleep: sleep, failed: { client.activity.fail(source, $0) }) {
      try await download(validators)
    }
  }

  private func download(_ validators: Validators) async throws -> Answer {
    var fields: HTTPFields = [.acceptEncoding: ContentDecoder.acceptEncoding, .cacheControl: "no-cache"]
    // RFC 9110 §13.1.3: the date is ignored if there is an ETag, but old servers support only dates.
    fields[.ifNoneMatch] = validators.etag
    fields[.ifModifiedSince] = validators.lastModified
    let response = try await client.send(.get, source, fields: fields, bodyLimit: limits.manifestBytes)
    client.activity.record(source)
    let answer = response.head.headerFields
    let new = Validators(etag: answer[.eTag], lastModified: answer[.lastModified])
    switch response.head.status.code {
    case 304 where !validators.isEmpty:
      return .unchanged(
        Validators(etag: new.etag ?? validators.etag, lastModified: new.lastModified ?? validators.lastModified))
    case 200:
      var bytes: [UInt8] = []
      for try await chunk in response.body {
        client.activity.record(source)
        bytes += chunk
        guard Int64(bytes.count) <= limits.manifestBytes else {
          throw TransportError.tooLarge(url: source.text, limit: limits.manifestBytes)
        }
      }
      if let encoding = answer[.contentEncoding] {
        let decoder = try ContentDecoder(for: encoding, url: source.text, limit: limits.manifestBytes)
        bytes = try decoder.decode(bytes)
        try decoder.finish()
      }
      return try await parse(bytes, new)
    default:
      throw HTTPFault(response.head, url: source, now: .now)
    }
  }

  /// The longest wait of a page for the release's name, which is only for people.
  private static let namePatience: Duration = .seconds(2)
  private static let nameLimit: Int64 = 64 << 10

  /// Adds the release's name from the file beside the manifest, if the dialect has one. Without that file the release
  /// is unnamed.
  private func named(_ answer: Answer) async throws -> Answer {
    guard case .manifest(var fetched, let validators) = answer, let file = fetched.manifest.dialect.nameFile,
      let url = source.resolving(file),
      let content = try await within(
        Self.namePatience, { try? await smallFile(at: url, limit: Self.nameLimit) }) ?? nil,
      fetched.manifest.setName(from: content)
    else { return answer }
    return .manifest(fetched, validators)
  }

  /// The files beside the source's manifest, or beside its pointer, that say whether it is trusted.
  var signedFiles: SignedFiles { signedFiles(of: source) }

  /// The same of the manifest at a URL.
  func signedFiles(of url: PageURL) -> SignedFiles {
    SignedFiles(of: url) { try await smallFile(at: $0, limit: $1) }
  }

  /// Waits before the server is asked once more about the same.
  func pause(_ duration: Duration) async throws { try await sleep(duration) }

  /// Fetches the status beside the manifest.
  ///
  /// - Parameter known: the stored one, which the server may call unchanged; `nil` for an unconditional request.
  /// - Returns: `nil` if there is none.
  /// - Throws: ``SourceError``, `CancellationError`.
  func status(unless known: PublishedStatus?) async throws -> PublishedStatus? {
    let files = signedFiles
    guard let url = files.statusURL else { return nil }
    switch try await smallFile(at: url, limit: ReleaseStatus.byteLimit, validators: known?.validators ?? Validators()) {
    case .none: return nil
    case .unchanged: return known
    case .file(let bytes, let validators):
      let signatures =
        if let known, known.bytes == bytes { known.signatures } else { try await files.statusSignatures() }
      return PublishedStatus(bytes: bytes, signatures: signatures, validators: validators)
    }
  }

  /// Fetches a small file beside the manifest, past all caches.
  ///
  /// - Returns: `nil` if there is none.
  /// - Throws: ``SourceError``, `CancellationError`.
  func smallFile(at url: PageURL, limit: Int64) async throws -> [UInt8]? {
    guard case .file(let bytes, _) = try await smallFile(at: url, limit: limit, validators: Validators()) else {
      return nil
    }
    return bytes
  }

  /// The answer to the request for a small file.
  private enum SmallFile {
    case none
    case unchanged
    case file([UInt8], Validators)
  }

  private func smallFile(at url: PageURL, limit: Int64, validators: Validators) async throws -> SmallFile {
    do {
      if let path = url.filePath {
        do {
          return .file(try RegularFile.contents(of: path, upTo: limit), Validators())
        } catch RegularFileError.absent {
          return .none
        }
      }
      var fields: HTTPFields = [.cacheControl: "no-cache", .acceptEncoding: "identity"]
      fields[.ifNoneMatch] = validators.etag
      fields[.ifModifiedSince] = validators.lastModified
      let response = try await client.send(.get, url, fields: fields, bodyLimit: limit)
      let answer = response.head.headerFields
      switch response.head.status.code {
      case 304 where !validators.isEmpty: return .unchanged
      case 200:
        return .file(
          try await response.body.collect(upTo: limit),
          Validators(etag: answer[.eTag], lastModified: answer[.lastModified]))
      case 404, 410: return .none
      default: throw HTTPFault(response.head, url: url, now: .now)
      }
    } catch let error as CancellationError {
      throw error
    } catch {
      throw SourceError.unreachable(url, error)
    }
  }

  /// The queue on which manifests are parsed: one with many entries takes a second.
  private static let queue = DispatchQueue(label: "pagekit.manifests")

  /// Reads a manifest that was stored, within the limits of one that is fetched.
  ///
  /// - Throws: ``ManifestError``.
  func manifest(reading bytes: [UInt8]) async throws -> Manifest {
    try await Self.queue.result { [limits] in try Manifest(reading: bytes, limits: limits) }
  }

  /// Reads what the source has: a manifest, or a pointer to one.
  private func parse(_ bytes: [UInt8], _ validators: Validators) async throws -> Answer {
    if let pointer = try ReleasePointer(reading: bytes) {
      return .manifest(try await fetch(pointer.current.manifest, namedAt: source), validators)
    }
    return .manifest(try await parse(bytes, at: source), validators)
  }

  private func parse(_ bytes: [UInt8], at url: PageURL) async throws -> FetchedManifest {
    try await Self.queue.result { [limits] in
      let manifest = try Manifest(reading: bytes, limits: limits)
      return (manifest, bytes, bundles: try manifest.located(at: url), url)
    }
  }
}

/// A manifest with its bytes, its bundles and files with their URLs, and its own URL, which is another one than the
/// source's if a pointer or another manifest names it.
package typealias FetchedManifest = (manifest: Manifest, bytes: [UInt8], bundles: [PageBundle], url: PageURL)

/// The reason why a source gave no manifest.
public enum SourceError: Error, CustomStringConvertible {
  /// The manifest could not be fetched or read, with the cause.
  case unreachable(PageURL, any Error)
  /// The manifest is invalid; the second value lists its faults.
  case badManifest(PageURL, any Error)
  /// The server has no manifest: 404 or 410. Bundles are then checked one by one.
  case noManifest(PageURL, status: Int)
  /// The store has no release of the source, and the network may not be used.
  case notStored(PageURL)
  /// The server has sent no bytes for this long.
  case noProgress(PageURL, after: Duration)
  /// The manifest or pointer names another manifest, which the server does not have.
  case noOtherManifest(PageURL, url: String)
  /// A server's manifest or pointer names a file of this machine.
  case localFile(PageURL, url: PageURL)
  /// The manifest that another one or a pointer names has other bytes.
  case otherBytes(PageURL, url: PageURL, expected: SHA256Digest, found: SHA256Digest)
  /// The server has no release for this host, for this reason.
  case notForThisHost(PageURL, reason: String)
  /// The manifest's signatures are not what the host's keys ask for.
  case untrusted(PageURL, TrustError)

  public var description: String {
    switch self {
    case .unreachable(let source, let error):
      let text = error.sentence
      return text.contains(source.text) ? "manifest: \(text)" : "manifest \(source.readable): \(text)"
    case .untrusted(let source, let error): return "manifest \(source.readable): \(error.sentence)"
    case .noOtherManifest(let source, let url):
      return "manifest \(source.readable): it names \(url), which the server does not have"
    case .localFile(let source, let url):
      return
        "manifest \(source.readable): it names \(url), a file of this machine, which no server may name: expected an http or https URL"
    case .otherBytes(let source, let url, let expected, _) where url.isFile:
      return
        "manifest \(source.readable): it names \(url.readable) with the SHA-256 \(expected), and the file has other bytes: publish the manifest that names it last"
    case .otherBytes(let source, let url, let expected, let found):
      return
        "manifest \(source.readable): it names \(url) with the SHA-256 \(expected), and the server has \(found) there: publish the manifest that names it last"
    case .notForThisHost(let source, let reason): return "manifest \(source.readable): \(reason)"
    case .badManifest(let source, let error): return "manifest \(source.readable): \(error.sentence)"
    case .noManifest(let source, let status):
      return "manifest \(source.readable): the server answers \(status): there is no manifest at this URL"
    case .noProgress(let source, let limit):
      return "manifest \(source.readable): the server has sent nothing for \(limit.inSeconds)"
    case .notStored(let source): return "the store has nothing of \(source.readable), and the network may not be asked"
    }
  }
}

extension SourceError {
  /// Runs a body, and adds the source to its errors of trust.
  static func naming<Value>(_ source: PageURL, _ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch let error as TrustError {
      throw SourceError.untrusted(source, error)
    }
  }
}

extension SourceError: RetryableError {
  package var isRetryable: Bool {
    if case .unreachable(_, let cause) = self { RetryPolicy.mayPass(cause) } else { false }
  }

  package var retryAfter: Duration? {
    if case .unreachable(_, let cause) = self { RetryPolicy.retryAfter(cause) } else { nil }
  }
}
