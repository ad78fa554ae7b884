import HTTPTypes

/// What a head says of how long its body is, held to what can be relied on: libcurl reads lengths leniently, and who
/// passes the answer on would say something else than was read. RFC 9112 §6.
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
      case .noNumber: "its length is no number"
      case .lengthAndCoding: "it says in two ways how long its body is"
      case .unclearCoding: "its transfer coding is chunked and something else"
      case .codingInOldVersion: "it has a transfer coding, which HTTP/1.0 does not know"
      case .unclear: "the field that says how long its body is has a space before its colon or goes over two lines"
      }
    }
  }

  /// Leaves one length, as a plain number, or none.
  static func check(_ fields: inout HTTPFields, isOld: Bool) throws(Fault) {
    let codings = fields[values: .transferEncoding]
    let lengths = fields[values: .contentLength]
    if !codings.isEmpty {
      // RFC 9112 §6.3: an attempt to have an answer taken for two ought to be an error.
      guard lengths.isEmpty else { throw .lengthAndCoding }
      // RFC 9112 §6.1.
      guard !isOld else { throw .codingInOldVersion }
      // RFC 9112 §6.3: what is not chunked ends with its connection, whatever it is. What only looks like chunked
      // somebody else may take for it.
      let text = codings.joined(separator: ",").lowercased()
      guard text == "chunked" || !text.isEmpty && !text.contains("chunked") else { throw .unclearCoding }
    }
    guard !lengths.isEmpty else { return }
    // RFC 9112 §6.3: the same length several times, in lines or in a list, is that length.
    var found: Int64?
    for text in lengths.flatMap({ $0.split(separator: ",", omittingEmptySubsequences: false) }) {
      let digits = text.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed()
      guard !digits.isEmpty, digits.allSatisfy({ ("0"..."9").contains($0) }), let length = Int64(String(digits)) else {
        throw .noNumber
      }
      guard found == nil || found == length else { throw .twoLengths }
      found = length
    }
    fields[.contentLength] = found.map { String($0) }
  }
}
