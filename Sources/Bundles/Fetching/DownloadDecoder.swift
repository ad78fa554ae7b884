import HTTPTransport
import Releases

/// Receives one body: stores its wire bytes, and decodes, checks and digests its content.
final class DownloadDecoder {
  private let target: FetchTarget
  private let download: BundleDownload
  private let head: DownloadHead
  private let decoder: ContentDecoder?
  private let limit: Int64
  private let contentType: String?
  private var digester: ContentDigester
  private var script: ScriptCheck?

  /// - Parameter dictionary: the dictionary of a content that needs one.
  init(
    _ target: FetchTarget, head: DownloadHead, contentType: String?, into download: BundleDownload,
    dictionary: ContentDictionary? = nil, fileLimit: Int64
  ) throws {
    self.target = target
    self.head = head
    self.contentType = contentType
    self.download = download
    // One byte more than the expected size is enough to refuse the content.
    let limit = min(fileLimit, target.expected.size.map { $0 + 1 } ?? fileLimit)
    self.limit = limit
    decoder = try head.encoding.map {
      try ContentDecoder(for: $0, url: head.url.text, limit: limit, dictionary: dictionary)
    }
    digester = try ContentDigester()
    script = target.kind == .bundle ? ScriptCheck() : nil
  }

  func receive(_ wire: [UInt8]) throws {
    try download.append(wire: wire)
    try digest(wire)
  }

  /// Decodes and digests the wire bytes of the partial download.
  func receiveHeld() throws {
    try download.readHeld { try digest($0) }
  }

  private func digest(_ wire: [UInt8]) throws {
    var content = wire
    if let decoder {
      content = try decoder.decode(wire)
      try download.append(content: content)
    }
    digester.update(content)
    if let fault = script?.receive(content) { throw error(fault) }
    guard digester.size <= limit else { throw tooLong() }
  }

  private func tooLong() -> BundleError {
    if let size = target.expected.size, digester.size > size {
      return .mismatch(
        bundle: target.name, url: target.url,
        difference: "the server says \(size) bytes, the download has more", tries: 1)
    }
    return .tooLarge(bundle: target.name, url: target.url, limit: limit)
  }

  /// - Parameter promised: the digests in the response's own fields, if no others were expected.
  /// - Throws: ``BundleError`` if the body is not a script or does not have the expected digests, ``ContentError``.
  func finish(promised: ExpectedContent? = nil) throws -> ContentDigests {
    try decoder?.finish()
    if let fault = script?.finish() { throw error(fault) }
    let digests = try digester.finish()
    if let difference = (promised ?? target.expected).mismatch(with: digests, inFile: target.url.isFile) {
      throw BundleError.mismatch(bundle: target.name, url: target.url, difference: difference, tries: 1)
    }
    return digests
  }

  private func error(_ fault: ScriptCheck.Fault) -> BundleError {
    switch fault {
    case .html: .html(bundle: target.name, url: target.url, contentType: contentType)
    case .empty: .empty(bundle: target.name, url: target.url)
    case .notUTF8: .notUTF8(bundle: target.name, url: target.url)
    }
  }
}
