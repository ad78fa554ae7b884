import HTTPTransport
import HTTPTypes

/// Parses a response's head from the lines that libcurl passes on, and the trailers from the lines after it.
struct ResponseHeadParser {
  enum Fault: Error, Equatable, CustomStringConvertible {
    case badStatusLine
    case tooLong
    case framing(ResponseFraming.Fault)
    case switchedProtocols

    var description: String {
      switch self {
      case .framing(let fault): fault.description
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
    do throws(ResponseFraming.Fault) {
      if fields.hasUnclearFraming { throw .unclear }
      try ResponseFraming.check(&head.headerFields, isOld: version == "1.0")
    } catch { throw .framing(error) }
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
