import HTTPTypes

/// Makes a response head of the lines libcurl hands over, and trailers of those after it.
struct ResponseHeadParser {
  enum Fault: Error, CustomStringConvertible {
    case badStatusLine
    case tooLong
    case contradictoryLengths
    case switchedProtocols

    var description: String {
      switch self {
      case .contradictoryLengths: "it has two lengths that differ"
      case .switchedProtocols: "it switches to a protocol that nobody asked for"
      case .badStatusLine: "its first line is no status line"
      case .tooLong: "its head has more than \(ResponseHeadParser.limit) bytes"
      }
    }
  }

  /// In bytes, for all heads and trailers of one answer.
  static let limit = 256 << 10

  private var response: HTTPResponse?
  private var fields = FieldLines()
  private var size = 0
  private(set) var isComplete = false
  private(set) var trailers = FieldLines()

  /// The head that this line completes: interim ones (1xx), then the final one.
  mutating func receive(_ line: UnsafeRawBufferPointer) throws(Fault) -> HTTPResponse? {
    size += line.count
    guard size <= Self.limit else { throw .tooLong }
    // RFC 9110 §5.5: bytes beyond ASCII are opaque; ISO 8859-1 keeps each.
    let text = String(String.UnicodeScalarView(line.lazy.map { UnicodeScalar($0) })).trimmed
    if isComplete {
      trailers.append(text)
      return nil
    }
    guard response != nil else {
      response = try Self.statusLine(text)
      return nil
    }
    guard text.isEmpty else {
      fields.append(text)
      return nil
    }
    defer {
      response = nil
      fields = FieldLines()
    }
    guard var head = response else { return nil }
    head.headerFields = fields.fields
    // RFC 9110 §7.8: only where the request has an Upgrade field, which nothing here can follow.
    guard head.status != .switchingProtocols else { throw .switchedProtocols }
    if head.status.kind == .informational { return head }
    isComplete = true
    // RFC 9112 §6.3: nobody can tell where such an answer ends.
    guard Set(fields.fields[values: .contentLength]).count <= 1 else { throw .contradictoryLengths }
    return head
  }

  private static func statusLine(_ text: String) throws(Fault) -> HTTPResponse {
    let words = text.split(separator: " ", maxSplits: 2)
    guard words.count >= 2, words[0].hasPrefix("HTTP/"), words[1].utf8.count == 3, let code = Int(words[1]),
      (100...999).contains(code)
    else { throw .badStatusLine }
    return HTTPResponse(status: .init(code: code))
  }
}

/// Field lines, as they come one by one.
struct FieldLines {
  private(set) var fields = HTTPFields()
  private var lastName: HTTPField.Name?

  mutating func append(_ line: String) {
    if let first = line.first, first == " " || first == "\t" {
      // RFC 9112 §5.2: a folded line goes on with the field before it, after one space.
      guard let lastName, let last = fields.lastIndex(where: { $0.name == lastName }) else { return }
      fields[last].value += " " + line.trimmingSpaces
      return
    }
    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else {
      lastName = nil
      return
    }
    fields.append(HTTPField(name: name, value: String(parts[1]).trimmingSpaces))
    lastName = name
  }
}

extension String {
  /// Without the line's end.
  fileprivate var trimmed: String {
    var text = Substring(self)
    while let last = text.unicodeScalars.last, last == "\r" || last == "\n" { text.unicodeScalars.removeLast() }
    return String(text)
  }

  fileprivate var trimmingSpaces: String {
    var text = Substring(self)
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return String(text)
  }
}
