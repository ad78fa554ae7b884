import HTTPTransport
import HTTPTypes

/// Parses a response's head from the lines that libcurl passes on, and the trailers from the lines after it.
struct ResponseHeadParser {
  enum Fault: Error, Equatable, CustomStringConvertible {
    case badStatusLine
    case tooLong
    case twoLengths
    case noNumber
    case lengthAndCoding
    case unclearCoding
    case codingInOldVersion
    case unclear
    case switchedProtocols

    var description: String {
      switch self {
      case .twoLengths: "it has two lengths that differ"
      case .noNumber: "its length is not a number"
      case .lengthAndCoding: "it gives the length of its body in two ways"
      case .unclearCoding: "it has another transfer coding than chunked alone"
      case .codingInOldVersion: "it has a transfer coding, which HTTP/1.0 does not support"
      case .unclear:
        "the field that gives the length of its body has a space before its colon, spans two lines, or has other characters than visible ones"
      case .switchedProtocols: "it switches to a protocol that nobody asked for"
      case .badStatusLine: "its first line is not a status line"
      case .tooLong: "its head has more than \(ResponseHeadParser.limit) bytes"
      }
    }
  }

  /// The size limit of all heads and trailers of one response, in bytes.
  static let limit = 256 << 10

  private var response: HTTPResponse?
  /// The version in the last status line, such as `1.1` or `2`.
  private(set) var version = ""
  private var fields = FieldLines()
  private var size = 0
  private(set) var isComplete = false
  private(set) var trailers = FieldLines()

  /// `true` if the fields are passed on to a client byte for byte.
  private let isPassedOn: Bool

  init(isPassedOn: Bool = false) { self.isPassedOn = isPassedOn }

  /// Converts a status line or a value to text. RFC 9110 §5.5: bytes beyond ASCII are opaque. ISO 8859-1 keeps each of
  /// them, and so does ``OpaqueText``, which also keeps UTF-8 readable.
  private static func text(of bytes: UnsafeRawBufferPointer, isPassedOn: Bool) -> String {
    if isPassedOn || bytes.allSatisfy({ $0 < 0x80 }) { return OpaqueText.string(of: bytes) }
    return String(String.UnicodeScalarView(bytes.lazy.map { UnicodeScalar($0) }))
  }

  private static func withoutEnd(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    var end = line.count
    while end > 0, line[end - 1] == UInt8(ascii: "\r") || line[end - 1] == UInt8(ascii: "\n") { end -= 1 }
    return UnsafeRawBufferPointer(rebasing: line[..<end])
  }

  /// Returns the head that this line completes: interim ones (1xx), then the final one.
  mutating func receive(_ line: UnsafeRawBufferPointer) throws(Fault) -> HTTPResponse? {
    size += line.count
    guard size <= Self.limit else { throw .tooLong }
    let text = { [isPassedOn] in Self.text(of: $0, isPassedOn: isPassedOn) }
    if isComplete {
      // libcurl joins the trailers that come while the transfer is paused.
      for part in line.split(separator: UInt8(ascii: "\n")) {
        trailers.append(Self.withoutEnd(UnsafeRawBufferPointer(rebasing: part)), text: text)
      }
      return nil
    }
    let line = Self.withoutEnd(line)
    guard response != nil else {
      let text = text(line)
      response = try Self.statusLine(text)
      version = String(text.dropFirst(Self.protocolName.count).prefix { $0 != " " })
      return nil
    }
    guard line.isEmpty else {
      fields.append(line, text: text)
      return nil
    }
    defer {
      response = nil
      fields = FieldLines()
    }
    guard var head = response else { return nil }
    head.headerFields = fields.fields
    // RFC 9110 §7.8: allowed only if the request has an Upgrade field, which this transport does not support.
    guard head.status != .switchingProtocols else { throw .switchedProtocols }
    if head.status.kind == .informational { return head }
    isComplete = true
    if fields.hasUnclearFraming { throw .unclear }
    try Self.checkFraming(&head.headerFields, isOld: version == "1.0")
    return head
  }

  private static let protocolName = "HTTP/"

  private static func statusLine(_ text: String) throws(Fault) -> HTTPResponse {
    let words = text.utf8.split(separator: UInt8(ascii: " "), maxSplits: 2)
    guard words.count >= 2, words[0].starts(with: protocolName.utf8), words[1].count == 3,
      let code = Int(Substring(words[1])), (100...999).contains(code)
    else { throw .badStatusLine }
    return HTTPResponse(status: .init(code: code))
  }
}

/// Collects field lines one by one.
struct FieldLines {
  private(set) var fields = HTTPFields()
  private var lastName: HTTPField.Name?
  /// `true` if libcurl may read a line with the body's length differently: it does not unfold lines, and does not
  /// recognise names with a space before the colon. The same counts for a value with other bytes than visible ASCII.
  private(set) var hasUnclearFraming = false

  /// - Parameters:
  ///   - line: a line without its end.
  ///   - text: converts the bytes of a value.
  mutating func append(_ line: UnsafeRawBufferPointer, text: (UnsafeRawBufferPointer) -> String) {
    if line.first?.isFieldSpace == true {
      // RFC 9112 §5.2: a folded line continues the field before it, after one space.
      guard let lastName, let last = fields.lastIndex(where: { $0.name == lastName }) else { return }
      fields[last].value += " " + text(UnsafeRawBufferPointer(rebasing: line.trimmed))
      if Self.isFraming(lastName) { hasUnclearFraming = true }
      return
    }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
      lastName = nil
      return
    }
    // RFC 9112 §5.1: a proxy removes the space before a colon; the field is valid.
    let bytes = line[..<colon].trimmed
    guard let name = HTTPField.Name(String(decoding: bytes, as: UTF8.self)) else {
      lastName = nil
      return
    }
    let value = UnsafeRawBufferPointer(rebasing: line[(colon + 1)...].trimmed)
    fields.append(HTTPField(name: name, value: text(value)))
    lastName = name
    // A value becomes text without its control characters, and the small letter of the sign of Kelvin is a k.
    let isClear = bytes.count == colon && value.allSatisfy { $0 == 9 || 0x20...0x7E ~= $0 }
    if !isClear, Self.isFraming(name) { hasUnclearFraming = true }
  }

  private static func isFraming(_ name: HTTPField.Name) -> Bool { name == .contentLength || name == .transferEncoding }
}

extension BidirectionalCollection<UInt8> {
  /// The bytes without the spaces and tabs at both ends. RFC 9110 §5.6.3.
  var trimmed: SubSequence {
    let start = firstIndex { !$0.isFieldSpace } ?? endIndex
    var end = endIndex
    while end > start, self[index(before: end)].isFieldSpace { formIndex(before: &end) }
    return self[start..<end]
  }
}

extension UInt8 {
  /// `true` for a space or a tab.
  fileprivate var isFieldSpace: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}

// MARK: Framing

extension ResponseHeadParser {
  /// Returns `true` for what most heads have: one length as it would be written here, and no coding.
  private static func hasOnePlainLength(_ fields: HTTPFields) -> Bool {
    var hasLength = false
    for field in fields {
      switch field.name {
      case .transferEncoding: return false
      case .contentLength:
        let digits = field.value.utf8
        guard !hasLength, 1...18 ~= digits.count, digits.allSatisfy({ 48...57 ~= $0 }),
          digits.first != 48 || digits.count == 1
        else { return false }
        hasLength = true
      default: break
      }
    }
    return hasLength
  }

  /// The transfer codings that change bytes (IANA, HTTP Transfer Coding Registry), also as parts of other words.
  private static let changing = ["chunked", "gzip", "deflate", "compress"]

  /// Leaves one length, as a plain number, or none. libcurl accepts ambiguous lengths; a gateway that passes the response
  /// on would then announce another length than was read. RFC 9112 §6.
  private static func checkFraming(_ fields: inout HTTPFields, isOld: Bool) throws(Fault) {
    if hasOnePlainLength(fields) { return }
    let codings = fields[values: .transferEncoding]
    let lengths = fields[values: .contentLength]
    if !codings.isEmpty {
      // RFC 9112 §6.3: this may be an attempt at response splitting, and ought to be handled as an error.
      guard lengths.isEmpty else { throw .lengthAndCoding }
      // RFC 9112 §6.1.
      guard !isOld else { throw .codingInOldVersion }
      // RFC 9112 §7.4: no request here has TE, and so no response may have a coding that changes bytes: they would be
      // taken for the content. Other software may read a coding that only resembles chunked as chunked. A word that is
      // no coding changes nothing, and the body ends with its connection (§6.3).
      let text = codings.joined(separator: ",").lowercased()
      let isWord = !text.isEmpty && !changing.contains { text.contains($0) }
      guard text == "chunked" || isWord else { throw .unclearCoding }
    }
    guard !lengths.isEmpty else { return }
    // RFC 9112 §6.3: equal lengths in several lines or in a list count as one.
    var found: Int64?
    let comma = UInt8(ascii: ",")
    for text in lengths.flatMap({ $0[...].utf8.split(separator: comma, omittingEmptySubsequences: false) }) {
      let digits = text.trimmed
      guard !digits.isEmpty, digits.allSatisfy({ (48...57).contains($0) }), let length = Int64(Substring(digits))
      else { throw .noNumber }
      guard found == nil || found == length else { throw .twoLengths }
      found = length
    }
    let text = found.map { String($0) }
    if lengths.count > 1 || lengths.first != text { fields[.contentLength] = text }
  }
}
