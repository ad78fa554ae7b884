import HTTPCaching
import HTTPTransport
import HTTPTypes

/// What an answer means for a download of which `held` wire bytes are here.
enum RangeDecision: Equatable {
  /// The whole content: what is held is dropped.
  case startOver
  /// Goes on where the held bytes end.
  case append
  /// Not a part that fits: ask again for the whole.
  case askForWhole
  /// Neither: an error.
  case fail

  init(for response: HTTPResponse, held: (head: DownloadHead, wireBytes: Int64)?) {
    switch response.status.code {
    case 200:
      self = .startOver
    case 206:
      guard let held, let range = ContentRange(response.headerFields[.contentRange]) else {
        self = .askForWhole
        return
      }
      // RFC 9110 §15.3.7: parts belong together only if they are of the same representation.
      let fits =
        range.first == held.wireBytes
        && (range.size == nil || held.head.wireSize == nil || range.size == held.head.wireSize)
        && range.size.map { range.last == $0 - 1 } ?? true
        && response.headerFields[.contentEncoding].flatMap { $0 == "identity" ? nil : $0 } == held.head.encoding
        && (response.headerFields[.eTag] == nil || response.headerFields[.eTag] == held.head.etag)
      self = fits ? .append : .askForWhole
    case 416:
      self = held == nil ? .fail : .askForWhole
    default:
      self = .fail
    }
  }

  /// The fields that ask for the rest. RFC 9110 §14.2, §13.1.5.
  static func fields(after held: (head: DownloadHead, wireBytes: Int64)) -> HTTPFields {
    var fields: HTTPFields = [.range: "bytes=\(held.wireBytes)-"]
    // A weak ETag may not be used; without a validator the digest at the end is what tells.
    if let validator = held.head.validators.strongETag ?? held.head.lastModified {
      fields[.ifRange] = validator
    }
    return fields
  }
}
