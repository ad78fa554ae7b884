import HTTPTransport
import HTTPTypes

/// The lines of a request's head as libcurl takes them: fields to send, and fields not to add of its own accord.
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
      return field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)"
    }
    // HTTPFields keeps cookies apart; RFC 6265 §5.4 wants one field.
    if let cookies = fields[.cookie], !cookies.isEmpty { lines.append("Cookie: \(cookies)") }

    let unwanted: [HTTPField.Name] = [.expect, .contentType] + (request.addsNothing ? [.accept, .userAgent] : [])
    for name in unwanted where fields[name] == nil || name == .expect && ownsExpectation {
      lines.append("\(name.rawName):")
    }
    if let expectation = fields[.expect], ownsExpectation, let authority = request.head.authority {
      // Where libcurl finds this field it waits a second of its own, and after a 417 asks again without it. It does
      // not look behind the end of a line.
      lines.append("Host: \(authority)\r\nExpect: \(expectation)")
    }
    if fields[.userAgent] == nil, !request.addsNothing { lines.append("User-Agent: \(userAgent)") }
    return lines
  }
}

extension String {
  /// A field's line as it goes over the wire: as it would be read, one byte for each character of ISO 8859-1;
  /// UTF-8 if there are others; if it is passed on, the bytes that it came as.
  func fieldBytes(isPassedOn: Bool) -> [CChar] {
    if isPassedOn { return OpaqueText.bytes(of: utf8).map(CChar.init(bitPattern:)) + [0] }
    let bytes = unicodeScalars.compactMap { UInt8(exactly: $0.value) }
    return (bytes.count == unicodeScalars.count ? bytes : Array(utf8)).map(CChar.init(bitPattern:)) + [0]
  }
}
