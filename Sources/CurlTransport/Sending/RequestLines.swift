import CCurl
import HTTPTransport
import HTTPTypes

/// The lines of a request's head in libcurl's form: fields to send, and fields that libcurl must not add by itself.
struct RequestLines {
  /// The lines, each with a zero behind it.
  private var bytes: [UInt8] = []
  /// The positions at which lines begin.
  private var starts: [Int] = []
  private let isPassedOn: Bool

  init(for request: TransportRequest, userAgent: String) {
    let fields = request.head.headerFields
    isPassedOn = request.addsNothing
    starts.reserveCapacity(fields.count + 4)
    bytes.reserveCapacity(fields.reduce(128) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 3 })

    let ownsExpectation = request.stream != nil || request.addsNothing
    for field in fields {
      switch field.name {
      case .cookie: continue
      case .contentLength, .transferEncoding:
        if request.stream != nil { continue }
      case .expect:
        if ownsExpectation { continue }
      default: break
      }
      append(field.name.rawName, field.value)
    }
    // HTTPFields splits cookies; RFC 6265 §5.4 requires one field.
    if let cookies = fields[.cookie], !cookies.isEmpty { append("Cookie", cookies) }
    // libcurl signs also the fields that it is told to leave out, which the server does not get then.
    let isSigned = request.signing != nil
    append(without: .expect, unless: isSigned || fields.contains(.expect) && !ownsExpectation)
    append(without: .contentType, unless: isSigned || fields.contains(.contentType))
    if request.addsNothing {
      append(without: .accept, unless: fields.contains(.accept))
      append(without: .userAgent, unless: fields.contains(.userAgent))
    }
    if let expectation = fields[.expect], ownsExpectation, let authority = request.head.authority {
      // If libcurl finds this field, it waits for up to a second, and after a 417 repeats the request without it. It
      // does not search after the end of a line.
      append("Host", authority + "\r\nExpect: " + expectation)
    }
    if !request.addsNothing, !fields.contains(.userAgent) { append("User-Agent", userAgent) }
  }

  private mutating func append(_ name: String, _ value: String) {
    starts.append(bytes.count)
    bytes.append(contentsOf: name.utf8)
    if value.isEmpty {
      // libcurl's form of a field without a value.
      bytes.append(UInt8(ascii: ";"))
    } else {
      bytes.append(UInt8(ascii: ":"))
      bytes.append(UInt8(ascii: " "))
      bytes.append(fieldValue: value, isPassedOn: isPassedOn)
    }
    bytes.append(0)
  }

  /// Keeps libcurl from adding a field.
  private mutating func append(without name: HTTPField.Name, unless isSent: Bool) {
    if isSent { return }
    starts.append(bytes.count)
    bytes.append(contentsOf: name.rawName.utf8)
    bytes.append(UInt8(ascii: ":"))
    bytes.append(0)
  }

  /// Makes the list that libcurl reads, in one piece of memory, which the caller deallocates; `nil` for no lines.
  ///
  /// `curl_slist_append` would take two pieces for each line.
  func list() -> UnsafeMutablePointer<curl_slist>? {
    guard !starts.isEmpty else { return nil }
    let count = MemoryLayout<curl_slist>.stride * starts.count
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: count + bytes.count, alignment: MemoryLayout<curl_slist>.alignment)
    UnsafeMutableRawBufferPointer(start: memory + count, count: bytes.count).copyBytes(from: bytes)
    let text = (memory + count).bindMemory(to: CChar.self, capacity: bytes.count)
    let nodes = memory.bindMemory(to: curl_slist.self, capacity: starts.count)
    for (index, start) in starts.enumerated() {
      let next = index + 1 < starts.count ? nodes + index + 1 : nil
      (nodes + index).initialize(to: curl_slist(data: text + start, next: next))
    }
    return nodes
  }
}

extension [UInt8] {
  /// Appends the value of a field as it is sent: one byte for each character of ISO 8859-1, or UTF-8 if there are other
  /// characters. If the value is passed on, its original bytes.
  mutating func append(fieldValue value: String, isPassedOn: Bool) {
    // Most values are ASCII.
    if value.utf8.allSatisfy({ $0 < 0x80 }) {
      append(contentsOf: value.utf8)
    } else {
      self += isPassedOn ? OpaqueText.bytes(of: value.utf8) : Self(latin1: value) ?? Array(value.utf8)
    }
  }

  /// The bytes in ISO 8859-1; `nil` if it does not have all characters.
  private init?(latin1 value: String) {
    self = value.unicodeScalars.compactMap { UInt8(exactly: $0.value) }
    if count != value.unicodeScalars.count { return nil }
  }
}

/// The form in which libcurl gets a request's target. RFC 9112 §3.2.
enum RequestTarget: Equatable {
  /// The path and query of the URL, which libcurl sends unchanged.
  case ofURL
  /// A separate text, because the target is not a path (`*`), or because libcurl would cut it at a `#` or escape it.
  case verbatim(String)

  /// Returns `nil` if the authority or the target would be changed on the way: RFC 9112 §3.2 allows no spaces or
  /// control characters in them.
  init?(of request: TransportRequest) {
    // libcurl would read the rest of such an authority as a path.
    guard let authority = request.head.authority, !authority.isEmpty, Self.isClean(authority),
      !authority.utf8.contains(where: Self.endsAuthority)
    else { return nil }
    let target = request.head.path ?? "/"
    guard Self.isClean(target) else { return nil }
    let isPath = target.isEmpty || target.hasPrefix("/") || target.hasPrefix("?")
    self = isPath && target.utf8.allSatisfy { $0 < 0x80 && $0 != UInt8(ascii: "#") } ? .ofURL : .verbatim(target)
  }

  private static func endsAuthority(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") || byte == UInt8(ascii: "\\")
  }

  private static func isClean(_ text: String) -> Bool { text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F } }
}

extension String {
  /// The host of this authority, without its port; an IPv6 address without its brackets. RFC 3986 §3.2.2.
  var hostOfAuthority: String {
    if hasPrefix("["), let end = firstIndex(of: "]") { return String(self[index(after: startIndex)..<end]) }
    return String(prefix { $0 != ":" })
  }
}
