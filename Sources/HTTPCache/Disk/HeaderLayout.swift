import HTTPCaching
import HTTPTransport
import HTTPTypes

// The front of a response's file. Numbers are little-endian, a text is its length in UTF-8 (4 bytes) and its bytes:
//
//   8  id                           8  first position, 0 for the whole
//   2  status                       8  size of the representation, 0 for unknown
//   2  flags                        8  bytes stored
//   8  request's time              32  SHA-256 of the bytes
//   8  head's time                  .  key
//   8  stale since, 0 for never     4  fields, and of each its name and its value
//   8  stale at                     4  fields of the request, and of each its name, 1 if it was there or 0, its value
//   8  stored at, a Double          4  words of the app, and of each its key and its value

/// The kind of a stored response, and which of its optional numbers are set.
private struct HeaderFlags: OptionSet {
  let rawValue: UInt16

  static let isInline = HeaderFlags(rawValue: 1)
  static let isPart = HeaderFlags(rawValue: 2)
  static let hasSize = HeaderFlags(rawValue: 4)
  static let isInvalidated = HeaderFlags(rawValue: 8)
  static let isMarkedStale = HeaderFlags(rawValue: 16)
}

/// Writes the front of a response's file.
struct HeaderWriter {
  private(set) var bytes: [UInt8]

  /// - Parameter bytes: what stands before the front.
  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    self.bytes.reserveCapacity(1_024)
  }

  mutating func write(_ header: ResponseFileHeader) {
    let (entry, head) = (header.entry, header.entry.head)
    var flags: HeaderFlags = header.isInline ? .isInline : []
    var first: Int64 = 0
    if case .part(let range, _) = head.extent {
      first = range.lowerBound
      flags.insert(.isPart)
    }
    if head.extent.size != nil { flags.insert(.hasSize) }
    if head.isInvalidated { flags.insert(.isInvalidated) }
    if head.staleSince != nil { flags.insert(.isMarkedStale) }
    write(entry.id)
    write(UInt16(truncatingIfNeeded: head.status))
    write(flags.rawValue)
    for number in [
      head.times.request.secondsSinceEpoch, head.times.response.secondsSinceEpoch,
      head.staleSince?.secondsSinceEpoch ?? 0, head.staleAt,
    ] { write(number) }
    write(entry.storedAt.bitPattern)
    for number in [first, head.extent.size ?? 0, head.extent.count] { write(number) }
    bytes += entry.digest.bytes
    write(entry.key.description)
    write(UInt32(truncatingIfNeeded: head.fields.count))
    for field in head.fields {
      write(field.name.rawName)
      write(field.value)
    }
    write(UInt32(truncatingIfNeeded: head.vary.values.count))
    for (name, value) in head.vary.values {
      write(name)
      bytes.append(value == nil ? 0 : 1)
      write(value ?? "")
    }
    write(UInt32(truncatingIfNeeded: head.userInfo.count))
    for (key, value) in head.userInfo {
      write(key)
      write(value)
    }
  }

  private mutating func write(_ number: some FixedWidthInteger) {
    withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
  }

  private mutating func write(_ text: String) {
    // A front that is too long for its limit is refused, and so is one whose lengths are cut here.
    write(UInt32(truncatingIfNeeded: text.utf8.count))
    bytes.append(contentsOf: text.utf8)
  }
}

/// Reads the front of a response's file, in time that grows with its length.
struct HeaderReader {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  /// Reads a front; `nil` if it is not one, or its values contradict each other.
  static func header(_ bytes: UnsafeRawBufferPointer, isKept: Bool) -> ResponseFileHeader? {
    var reader = HeaderReader(bytes: bytes)
    return reader.header(isKept: isKept)
  }

  private mutating func header(isKept: Bool) -> ResponseFileHeader? {
    guard let id = number(Int64.self), let status = number(UInt16.self), (100...999).contains(status),
      let flags = number(UInt16.self).map(HeaderFlags.init), let requestedAt = number(Int64.self),
      let receivedAt = number(Int64.self), let staleSince = number(Int64.self), let staleAt = number(Int64.self),
      let storedAt = number(UInt64.self).map(Double.init(bitPattern:)), storedAt.isFinite,
      let first = number(Int64.self), let size = number(Int64.self), let count = number(Int64.self),
      let digest = take(SHA256Digest.byteCount).flatMap({ SHA256Digest(bytes: $0) }),
      let key = text().flatMap({ CacheKey(text: $0) }), let fields = fields(), let vary = vary(),
      let userInfo = words(), position == bytes.count,
      let extent = Extent(
        first: flags.contains(.isPart) ? first : nil, count: count, size: flags.contains(.hasSize) ? size : nil)
    else { return nil }
    var head = ResponseMetadata(
      status: Int(status), fields: fields,
      times: ExchangeTimes(
        request: HTTPDate(secondsSinceEpoch: requestedAt), response: HTTPDate(secondsSinceEpoch: receivedAt)),
      vary: VaryKey(values: vary), extent: extent, isInvalidated: flags.contains(.isInvalidated), staleAt: staleAt,
      userInfo: userInfo)
    if flags.contains(.isMarkedStale) { head.staleSince = HTTPDate(secondsSinceEpoch: staleSince) }
    let entry = ResponseEntry(
      id: id, key: key, head: head, digest: digest, isKept: isKept, storedAt: storedAt)
    return ResponseFileHeader(entry, isInline: flags.contains(.isInline))
  }

  private mutating func fields() -> HTTPFields? {
    var fields = HTTPFields()
    return times {
      guard let name = $0.text().flatMap({ HTTPField.Name($0) }), let value = $0.text() else { return false }
      fields.append(HTTPField(name: name, value: value))
      return true
    } ? fields : nil
  }

  private mutating func vary() -> [String: String?]? {
    var values: [String: String?] = [:]
    return times {
      guard let name = $0.text(), let hasValue = $0.number(UInt8.self), let value = $0.text() else { return false }
      values[name] = .some(hasValue == 0 ? nil : value)
      return true
    } ? values : nil
  }

  private mutating func words() -> [String: String]? {
    var words: [String: String] = [:]
    return times {
      guard let key = $0.text(), let value = $0.text() else { return false }
      words[key] = value
      return true
    } ? words : nil
  }

  // MARK: Steps

  /// Reads a number, and then so many elements; `false` if one of them is not there. Each takes bytes, so that none is
  /// read without end.
  private mutating func times(_ element: (inout HeaderReader) -> Bool) -> Bool {
    guard let count = number(UInt32.self) else { return false }
    for _ in 0..<count { guard element(&self) else { return false } }
    return true
  }

  private mutating func text() -> String? {
    number(UInt32.self).flatMap { take(Int($0)) }.map { String(decoding: $0, as: UTF8.self) }
  }

  private mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
    take(MemoryLayout<Number>.size).map { Number(littleEndian: $0.loadUnaligned(as: Number.self)) }
  }

  private mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
    guard count >= 0, count <= bytes.count - position else { return nil }
    defer { position += count }
    return UnsafeRawBufferPointer(rebasing: bytes[position..<(position + count)])
  }
}
