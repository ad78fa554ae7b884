import HTTPCaching
import HTTPTransport
import HTTPTypes

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
