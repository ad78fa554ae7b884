import Blobs
import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Releases

/// Fetches one bundle's bytes into a download. A partial download is resumed; the bytes are decoded, checked and
/// digested while they stream; transient failures are retried.
package struct BundleFetcher: Sendable {
  let client: OriginClient
  private let store: BundleStore
  private let retry: RetryPolicy
  private let fileLimit: Int64
  private let sleep: @Sendable (Duration) async throws -> Void

  /// - Parameters:
  ///   - fileLimit: the size limit of one decoded bundle or file, in bytes.
  ///   - sleep: waits between attempts.
  package init(
    client: OriginClient, store: BundleStore, retry: RetryPolicy = .standard,
    fileLimit: Int64 = ManifestLimits.standard.fileBytes,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) {
    self.client = client
    self.store = store
    self.retry = retry
    self.fileLimit = fileLimit
    self.sleep = sleep
  }

  /// Bytes with the expected digests that are not in the store yet.
  typealias Fetched = (download: BundleDownload, digests: ContentDigests, wasResumed: Bool, wasDelta: Bool)

  /// - Parameters:
  ///   - first: the download of the first attempt; `nil` to take the store's.
  ///   - offer: the older bytes from which the server may send the difference. If that fails, all bytes are requested.
  ///   - began: called when an attempt begins, with the wire bytes already stored and, if the response gives it, the
  ///     size of the whole.
  ///   - received: called with the number of wire bytes that arrived.
  ///   - retries: called when an attempt has failed and another follows.
  /// - Throws: ``BundleError``, ``StoreError``, `CancellationError`.
  func fetch(
    _ target: FetchTarget, into first: BundleDownload? = nil, offering offer: DeltaOffer? = nil,
    began: @escaping @Sendable (Int64, Int64?) -> Void = { _, _ in },
    received: @escaping @Sendable (Int) -> Void = { _ in },
    retries: @Sendable (PreloadUpdate.Retry) -> Void = { _ in }
  ) async throws -> Fetched {
    if target.url.isFile { return try await readFile(target, received: received) }
    client.activity.begin(target.url)
    defer { client.activity.end(target.url) }
    var first = first
    var tries = 0
    var mode: Mode = offer.map { $0.listed == nil ? .offering : .delta } ?? .normal
    // A connection on which no bytes arrived may stay silent.
    var hasStalled = false
    while true {
      try Task.checkCancellation()
      let download: BundleDownload
      if let given = first {
        download = given
      } else {
        download = try await store.download(for: target.expected, url: target.url)
      }
      first = nil
      tries += 1
      do {
        return try await attempt(
          target, download: download, mode: mode.afterPart(of: download), offer: offer,
          onFreshConnection: hasStalled || mode == .pastCaches, began: began, received: received)
      } catch let setback as Setback {
        download.discard()
        download.close()
        guard let next = mode.next(after: setback.kind) else {
          throw BundleError.failed(bundle: target.name, tries: tries, setback.reason)
        }
        // What was stored, or is no difference, is no failed attempt of the server's.
        if setback.kind != .notAskedFor { tries -= 1 }
        mode = next
      } catch let error as BundleError {
        download.discard()
        download.close()
        guard error.mayBeOutdatedManifest, let next = mode.next(after: .otherBytes) else {
          throw error.withTries(tries)
        }
        mode = next
      } catch {
        download.close()
        if error is CancellationError || Task.isCancelled { throw CancellationError() }
        if case ContentError.corruptEncoding = error { download.discard() }
        if error is StoreError { throw error }
        if case TransportError.tooSlow = error { hasStalled = true }
        client.activity.fail(target.url, error)
        guard let delay = retry.delay(after: error, tried: tries, jitter: .random(in: 0...1)) else {
          throw BundleError.failed(bundle: target.name, tries: tries, error)
        }
        let reason = error.sentence.replacing("\(target.url): ", with: "")
        retries(.init(number: tries + 1, limit: retry.attempts, delay: delay, reason: reason))
        try await sleep(delay)
      }
    }
  }

  /// The way in which the content is asked for. A way is followed by later ones only, so that a server, whatever it
  /// answers, gets few requests.
  enum Mode: Int, CaseIterable {
    /// A published delta from older bytes is requested.
    case delta
    /// The content is requested, and the older bytes are offered as a dictionary.
    case offering
    case normal
    /// Without a range.
    case whole
    case pastCaches

    /// Returns the way to ask after an attempt without a usable result; `nil` if there is none.
    func next(after setback: Setback.Kind) -> Mode? {
      switch (self, setback) {
      // A published delta may be missing where the server makes its own.
      case (.delta, .uselessDelta), (.delta, .notAskedFor): .offering
      case (.offering, .uselessDelta), (.offering, .notAskedFor): .whole
      case (.delta, .uselessPart), (.offering, .uselessPart), (.normal, .uselessPart): .whole
      // One of the caches may have an outdated response, or one to another request.
      case (.normal, .notAskedFor): .pastCaches
      case (.pastCaches, .otherBytes): nil
      case (_, .otherBytes): .pastCaches
      case (.normal, .uselessDelta), (.whole, _), (.pastCaches, _): nil
      }
    }

    /// The rest of a partial download is requested in place of a difference; a partial difference is not continued.
    func afterPart(of download: BundleDownload) -> Mode {
      guard let (head, _) = download.held, head.dictionary == nil else { return self }
      return self == .delta || self == .offering ? .normal : self
    }
  }

  /// An attempt that brought nothing, although another request may.
  struct Setback: Error {
    enum Kind: CaseIterable {
      /// The stored part does not fit the server's content.
      case uselessPart
      /// The difference from older bytes is missing, damaged, or of other bytes.
      case uselessDelta
      /// The response answers another request, or has an encoding that was not asked for.
      case notAskedFor
      /// The content does not have the digests that the manifest lists.
      case otherBytes
    }

    let kind: Kind
    let reason: any Error
  }

  private func attempt(
    _ target: FetchTarget, download: BundleDownload, mode: Mode, offer: DeltaOffer?, onFreshConnection: Bool,
    began: @Sendable (Int64, Int64?) -> Void, received: @Sendable (Int) -> Void
  ) async throws -> Fetched {
    do {
      return try await transfer(
        target, download: download, mode: mode, offer: offer, onFreshConnection: onFreshConnection, began: began,
        received: received)
    } catch {
      if mode == .delta, !(error is CancellationError || error is StoreError) {
        throw Setback(kind: .uselessDelta, reason: error)
      }
      throw error
    }
  }

  private func transfer(
    _ target: FetchTarget, download: BundleDownload, mode: Mode, offer: DeltaOffer?, onFreshConnection: Bool,
    began: @Sendable (Int64, Int64?) -> Void, received: @Sendable (Int) -> Void
  ) async throws -> Fetched {
    var held = mode == .normal ? download.held : nil
    if let (head, wireBytes) = held {
      if head.url != target.url || head.dictionary != nil {
        held = nil
      } else if wireBytes == head.wireSize || head.encoding == nil && wireBytes == target.expected.size {
        // All bytes had arrived before the last process ended.
        began(wireBytes, head.wireSize)
        return try resumed(target, head: head, download: download)
      }
    }
    let published = mode == .delta ? offer?.listed : nil
    let dictionary = mode == .delta || mode == .offering ? offer?.dictionary : nil
    let url = published ?? target.url
    var fields: HTTPFields = [.acceptEncoding: ContentDecoder.acceptEncoding]
    if let held { for field in RangeDecision.fields(after: held) { fields.append(field) } }
    var ownFields: HTTPFields = [:]
    if let dictionary, published == nil, let name = HTTPField.Name.availableDictionary {
      ownFields[.acceptEncoding] = "\(DictionaryZstd.token), \(ContentDecoder.acceptEncoding)"
      ownFields[name] = dictionary.digest.availableDictionary
    }
    if mode == .pastCaches { fields[.cacheControl] = "no-cache" }
    // A difference that is larger than the content is useless.
    let limit = published == nil ? fileLimit : min(fileLimit, target.expected.size ?? fileLimit)
    let response = try await client.send(
      .get, url, fields: fields, ownFields: ownFields, bodyLimit: limit, onFreshConnection: onFreshConnection)
    client.activity.record(target.url)
    let answer = response.head.headerFields
    let intake: DownloadDecoder
    var isDelta = false
    switch RangeDecision(for: response.head, held: held) {
    case .fail: throw HTTPFault(response.head, url: url, now: .now)
    case .askForWhole: throw Setback(kind: .uselessPart, reason: Self.unrequested(response.head, url))
    case .notAskedFor: throw Setback(kind: .notAskedFor, reason: Self.unrequested(response.head, url))
    case .startOver:
      var head = DownloadHead(
        url: url, etag: answer[.eTag], lastModified: answer[.lastModified],
        encoding: answer[.contentEncoding].flatMap { $0.isEmpty || $0 == "identity" ? nil : $0 },
        wireSize: answer[.contentLength].flatMap { Int64($0) })
      let isEncodedWithIt = head.encoding.map(DictionaryZstd.isApplied(in:)) ?? false
      isDelta = published != nil || isEncodedWithIt
      if isDelta { head.dictionary = dictionary?.digest }
      if published != nil, !isEncodedWithIt {
        // The file is the difference, and the server's own coding is applied to it.
        head.encoding = [DictionaryZstd.token, head.encoding].compactMap(\.self).joined(separator: ", ")
      }
      do {
        intake = try makeIntake(
          target, head: head, contentType: answer[.contentType], download: download, dictionary: dictionary)
      } catch let error as ContentError {
        throw Setback(kind: .notAskedFor, reason: error)
      }
      try download.begin(head)
      began(0, head.wireSize)
      held = nil
    case .append:
      guard let held else {
        throw Setback(kind: .notAskedFor, reason: Self.unrequested(response.head, url))
      }
      intake = try makeIntake(target, head: held.head, contentType: answer[.contentType], download: download)
      try download.resume()
      try intake.receiveHeld()
      began(held.wireBytes, held.head.wireSize)
    }
    do {
      for try await chunk in response.body {
        client.activity.record(target.url)
        received(chunk.count)
        try intake.receive(chunk)
      }
      // If no digest is expected, the one in the response's fields applies.
      let promised =
        target.expected.md5 == nil ? ResponseDigest(answer, isEncoded: answer[.contentEncoding] != nil)?.expected : nil
      let digests = try intake.finish(promised: promised)
      return (download, digests, wasResumed: held != nil, wasDelta: isDelta)
    } catch let error where isDelta && (error is ContentError || error is BundleError) {
      throw Setback(kind: .uselessDelta, reason: error)
    }
  }

  private func makeIntake(
    _ target: FetchTarget, head: DownloadHead, contentType: String?, download: BundleDownload,
    dictionary: ContentDictionary? = nil
  ) throws -> DownloadDecoder {
    try DownloadDecoder(
      target, head: head, contentType: contentType, into: download, dictionary: dictionary,
      fileLimit: fileLimit)
  }

  private func resumed(
    _ target: FetchTarget, head: DownloadHead, download: BundleDownload
  ) throws -> Fetched {
    do {
      let intake = try makeIntake(target, head: head, contentType: nil, download: download)
      try download.resume()
      try intake.receiveHeld()
      let digests = try intake.finish()
      return (download, digests, wasResumed: true, wasDelta: false)
    } catch let error where error is BundleError || error is ContentError {
      throw Setback(kind: .uselessPart, reason: error)
    }
  }

  // MARK: Files

  private static let readSize = 256 << 10

  private func readFile(
    _ target: FetchTarget, received: @Sendable (Int) -> Void
  ) async throws -> Fetched {
    let path = target.url.filePath ?? target.url.text
    let download = try await store.download(for: target.expected, url: target.url)
    do {
      let head = DownloadHead(url: target.url)
      let intake = try makeIntake(target, head: head, contentType: nil, download: download)
      try download.begin(head)
      let file = try RegularFile(path)
      while true {
        let chunk = try file.read(upTo: Self.readSize)
        if chunk.isEmpty { break }
        try Task.checkCancellation()
        received(chunk.count)
        try intake.receive(chunk)
      }
      let digests = try intake.finish()
      return (download, digests, wasResumed: false, wasDelta: false)
    } catch let error as RegularFileError {
      download.discard()
      download.close()
      throw BundleError.unreadableFile(bundle: target.name, path: path, reason: "\(error)")
    } catch {
      download.discard()
      download.close()
      throw error
    }
  }
}

extension BundleFetcher {
  /// The error of a response that answers another request than the one that was sent.
  private static func unrequested(_ response: HTTPResponse, _ url: PageURL) -> DescribedError {
    DescribedError("\(url): the server answers \(response.status.code), which was not asked for")
  }
}

extension BundleError {
  fileprivate func withTries(_ tries: Int) -> BundleError {
    guard case .mismatch(let bundle, let url, let difference, _) = self else { return self }
    return .mismatch(bundle: bundle, url: url, difference: difference, tries: tries)
  }
}

/// The meaning of a response for a download of which `held` wire bytes are stored.
enum RangeDecision: Equatable {
  /// The response is the whole content: the held bytes are dropped.
  case startOver
  /// The response continues the held bytes.
  case append
  /// The response does not continue the held bytes: the whole content is requested.
  case askForWhole
  /// The response answers another request: it is a part, or says that nothing has changed, and nothing was held.
  case notAskedFor
  /// The response is an error.
  case fail

  init(for response: HTTPResponse, held: (head: DownloadHead, wireBytes: Int64)?) {
    switch response.status.code {
    case 200:
      self = .startOver
    case 206:
      guard let held else {
        self = .notAskedFor
        return
      }
      guard let range = ContentRange(response.headerFields[.contentRange]) else {
        self = .askForWhole
        return
      }
      // RFC 9110 §15.3.7: only parts of the same representation may be combined.
      let fits =
        range.first == held.wireBytes
        && (range.size == nil || held.head.wireSize == nil || range.size == held.head.wireSize)
        && range.size.map { range.last == $0 - 1 } ?? true
        && response.headerFields[.contentEncoding].flatMap { $0 == "identity" ? nil : $0 } == held.head.encoding
        && (response.headerFields[.eTag] == nil || response.headerFields[.eTag] == held.head.etag)
      self = fits ? .append : .askForWhole
    // RFC 9110 §15.4.5: only a condition is answered so, and a range with If-Range is none.
    case 304:
      self = held == nil ? .notAskedFor : .askForWhole
    case 416:
      self = held == nil ? .fail : .askForWhole
    default:
      self = .fail
    }
  }

  /// The fields that request the rest. RFC 9110 §14.2, §13.1.5.
  static func fields(after held: (head: DownloadHead, wireBytes: Int64)) -> HTTPFields {
    var fields: HTTPFields = [.range: "bytes=\(held.wireBytes)-"]
    // RFC 9110 §13.1.5: a weak ETag must not be used. Without a validator the digest at the end decides.
    if let validator = held.head.validators.strongETag ?? held.head.lastModified {
      fields[.ifRange] = validator
    }
    return fields
  }
}
