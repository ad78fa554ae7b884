import HTTPTransport

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

/// Checks while a body streams that it can be a script.
///
/// A server that no longer has a page often answers 200 with HTML, which would show an empty page if it were run.
package struct ScriptCheck {
  package enum Fault: Hashable, CustomStringConvertible {
    case html
    case empty
    case notUTF8

    package var description: String {
      switch self {
      case .html: "HTML"
      case .empty: "empty"
      case .notUTF8: "not UTF-8 text"
      }
    }
  }

  /// Returns the fault of a whole script; `nil` if it has none.
  package static func fault(of bytes: [UInt8]) -> Fault? {
    var check = ScriptCheck()
    return check.receive(bytes) ?? check.finish()
  }

  private var start: [UInt8] = []
  private var isStartKnown = false
  /// The bytes of an incomplete character at the end.
  private var pending: [UInt8] = []

  private static let startSize = 512

  /// - Returns: the fault as soon as it is known.
  mutating func receive(_ bytes: [UInt8]) -> Fault? {
    if !isStartKnown {
      start += bytes.prefix(Self.startSize - start.count)
      isStartKnown = start.count >= Self.startSize
      if isStartKnown, Self.isHTML(start) { return .html }
    }
    return isValid(bytes) ? nil : .notUTF8
  }

  /// - Returns: the fault of the whole body; `nil` if it has none.
  func finish() -> Fault? {
    if Self.isBlank(start) { return .empty }
    if Self.isHTML(start) { return .html }
    return pending.isEmpty ? nil : .notUTF8
  }

  private mutating func isValid(_ bytes: [UInt8]) -> Bool {
    let text = pending.isEmpty ? bytes : pending + bytes
    let complete = text.count - Self.incompleteTail(text)
    pending = Array(text[complete...])
    return String(validating: text[..<complete], as: UTF8.self) != nil
  }

  /// The number of bytes at the end that begin a character without completing it.
  private static func incompleteTail(_ text: [UInt8]) -> Int {
    for length in 1...3 where length <= text.count {
      let byte = text[text.count - length]
      if byte & 0xC0 == 0x80 { continue }  // a continuation byte: the character begins further left
      let needed = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
      return needed > length ? length : 0
    }
    return 0
  }

  private static func isBlank(_ bytes: [UInt8]) -> Bool {
    bytes.count < startSize && withoutMark(bytes).allSatisfy(isSpace)
  }

  /// No script begins with “<”.
  private static func isHTML(_ bytes: [UInt8]) -> Bool {
    withoutMark(bytes).first { !isSpace($0) } == UInt8(ascii: "<")
  }

  private static func withoutMark(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
    bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
  }

  private static func isSpace(_ byte: UInt8) -> Bool { [9, 10, 11, 12, 13, 32].contains(byte) }
}
