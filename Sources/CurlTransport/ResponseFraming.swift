import HTTPTypes

/// Checks the fields of a head that give the length of its body. libcurl accepts ambiguous lengths; a gateway that
/// passes the response on would then announce another length than was read. RFC 9112 §6.
enum ResponseFraming {
  enum Fault: Error, Hashable, CustomStringConvertible {
    case twoLengths
    case noNumber
    case lengthAndCoding
    case unclearCoding
    case codingInOldVersion
    case unclear

    var description: String {
      switch self {
      case .twoLengths: "it has two lengths that differ"
      case .noNumber: "its length is not a number"
      case .lengthAndCoding: "it gives the length of its body in two ways"
      case .unclearCoding: "it has another transfer coding than chunked alone"
      case .codingInOldVersion: "it has a transfer coding, which HTTP/1.0 does not support"
      case .unclear:
        "the field that gives the length of its body has a space before its colon, spans two lines, or has other characters than visible ones"
      }
    }
  }

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

  /// Leaves one length, as a plain number, or none.
  static func check(_ fields: inout HTTPFields, isOld: Bool) throws(Fault) {
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
