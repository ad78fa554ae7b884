import CCurl
import HTTPTransport
import HTTPTypes

/// The lines of a request's head in libcurl's form: fields to send, and fields that libcurl must not add by itself.
enum RequestLines {
  static func lines(for request: TransportRequest, userAgent: String) -> [String] {
    let fields = request.head.headerFields
    let ownsExpectation = request.stream != nil || request.addsNothing
    var lines = fields.compactMap { field -> String? in
      switch field.name {
      case .cookie: return nil
      case .contentLength, .transferEncoding:
        if request.stream != nil { return nil }
      case .expect:
        if ownsExpectation { return nil }
      default: break
      }
      let value = field.value
      return value.isEmpty ? field.name.rawName + ";" : field.name.rawName + ": " + value
    }
    // HTTPFields splits cookies; RFC 6265 §5.4 requires one field.
    if let cookies = fields[.cookie], !cookies.isEmpty { lines.append("Cookie: \(cookies)") }

    let unwanted: [HTTPField.Name] = [.expect, .contentType] + (request.addsNothing ? [.accept, .userAgent] : [])
    for name in unwanted where !fields.contains(name) || name == .expect && ownsExpectation {
      lines.append("\(name.rawName):")
    }
    if let expectation = fields[.expect], ownsExpectation, let authority = request.head.authority {
      // If libcurl finds this field, it waits for up to a second, and after a 417 repeats the request without it. It
      // does not search after the end of a line.
      lines.append("Host: \(authority)\r\nExpect: \(expectation)")
    }
    if !request.addsNothing, !fields.contains(.userAgent) { lines.append("User-Agent: \(userAgent)") }
    return lines
  }
}

extension String {
  /// Appends a field's line to a list for libcurl: one byte for each character of ISO 8859-1, or UTF-8 if there are
  /// other characters. If the line is passed on, its original bytes.
  ///
  /// - Returns: the list; `nil` if there is no memory.
  func appended(
    to list: UnsafeMutablePointer<curl_slist>?, isPassedOn: Bool
  ) -> UnsafeMutablePointer<curl_slist>? {
    // Most lines are ASCII.
    if utf8.allSatisfy({ $0 < 0x80 }) { return curl_slist_append(list, self) }
    let bytes = isPassedOn ? OpaqueText.bytes(of: utf8) : latin1 ?? Array(utf8)
    return curl_slist_append(list, bytes.map(CChar.init(bitPattern:)) + [0])
  }

  /// The bytes in ISO 8859-1; `nil` if it does not have all characters.
  private var latin1: [UInt8]? {
    let bytes = unicodeScalars.compactMap { UInt8(exactly: $0.value) }
    return bytes.count == unicodeScalars.count ? bytes : nil
  }
}
