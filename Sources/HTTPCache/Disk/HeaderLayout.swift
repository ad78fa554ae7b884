import Foundation
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
  private let front: UnsafeRawBufferPointer
  private var position = 0

  /// Reads a front; `nil` if it is not one, or its values contradict each other.
  static func header(_ bytes: UnsafeRawBufferPointer, isKept: Bool) -> ResponseFileHeader? {
    var reader = HeaderReader(front: bytes)
    return reader.header(isKept: isKept)
  }

  private mutating func header(isKept: Bool) -> ResponseFileHeader? {
    guard let id = number(Int64.self), let status = number(UInt16.self), (100...999).contains(status),
      let flags = number(UInt16.self).map(HeaderFlags.init), let requestedAt = number(Int64.self),
      let receivedAt = number(Int64.self), let staleSince = number(Int64.self), let staleAt = number(Int64.self),
      let storedAt = number(UInt64.self).map(Double.init(bitPattern:)), storedAt.isFinite,
      let first = number(Int64.self), let size = number(Int64.self), let count = number(Int64.self),
      let digest = bytes(SHA256Digest.byteCount).flatMap({ SHA256Digest(bytes: $0) }),
      let key = text().flatMap({ CacheKey(text: $0) }), let fields = fields(), let vary = vary(),
      let userInfo = words(), position == front.count,
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
    // A length and a text, twice.
    return times(sizedFrom: 8) {
      // Room for more would stay with them in memory.
      fields.reserveCapacity($0)
    } _: {
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
  ///
  /// - Parameters:
  ///   - size: the least bytes of an element.
  ///   - prepare: is told the number before the first element.
  private mutating func times(
    sizedFrom size: Int = 1, _ prepare: (Int) -> Void = { _ in }, _ element: (inout HeaderReader) -> Bool
  ) -> Bool {
    guard let count = number(UInt32.self), Int(count) <= (front.count - position) / size else { return false }
    prepare(Int(count))
    for _ in 0..<count { guard element(&self) else { return false } }
    return true
  }

  private mutating func text() -> String? {
    number(UInt32.self).flatMap { bytes(Int($0)) }.map { String(decoding: $0, as: UTF8.self) }
  }

  private mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
    bytes(MemoryLayout<Number>.size).map { Number(littleEndian: $0.loadUnaligned(as: Number.self)) }
  }

  private mutating func bytes(_ count: Int) -> UnsafeRawBufferPointer? {
    guard count >= 0, count <= front.count - position else { return nil }
    defer { position += count }
    return UnsafeRawBufferPointer(rebasing: front[position..<(position + count)])
  }
}

/// The header in front of the body in a response's file, and in its row of the index: enough to build the index anew.
///
/// It begins with a seal: a mark, and the length and the SHA-256 of the front, which follows. The front has a fixed
/// layout, in ``HeaderWriter``; files that were written before that have JSON there, and another mark.
struct ResponseFileHeader: Hashable, Sendable {
  let entry: ResponseEntry
  /// The bytes follow in the same file.
  let isInline: Bool

  /// The forms of a front.
  enum Format: String, CaseIterable {
    /// JSON, in files of older versions; it is read, and no longer written.
    case json = "PKR1"
    case binary = "PKR2"

    var mark: String.UTF8View { rawValue.utf8 }
  }

  /// Bytes of a front.
  private static let frontLimit = 4 << 20
  private static let markSize = 4
  private static let lengthEnd = markSize + 4
  /// Bytes of the seal.
  static let sealSize = lengthEnd + SHA256Digest.byteCount

  // MARK: Writing

  /// The header's bytes: seal and front. Returns `nil` if the front would be too long.
  ///
  /// - Throws: ``DigestError``.
  func sealed() throws -> [UInt8]? {
    var writer = HeaderWriter(Array(Format.binary.mark) + [UInt8](repeating: 0, count: Self.sealSize - Self.markSize))
    writer.write(self)
    var bytes = writer.bytes
    let length = bytes.count - Self.sealSize
    guard length <= Self.frontLimit else { return nil }
    for index in 0..<4 { bytes[Self.markSize + index] = UInt8(truncatingIfNeeded: length >> (index * 8)) }
    bytes.replaceSubrange(Self.lengthEnd..<Self.sealSize, with: try Self.digest(bytes[Self.sealSize...]).bytes)
    return bytes
  }

  private static func digest(_ bytes: ArraySlice<UInt8>) throws -> SHA256Digest {
    var digester = try Digester.sha256()
    bytes.withUnsafeBytes { digester.update($0) }
    return try digester.finish()
  }

  // MARK: Reading

  /// The position of an inline body, from a file's first bytes; `nil` if they are not such a file's.
  static func bodyStart(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= sealSize, format(of: bytes) != nil else { return nil }
    let length = (0..<4).reduce(0) { $0 | Int(bytes[markSize + $1]) << ($1 * 8) }
    return length <= frontLimit ? sealSize + length : nil
  }

  private static func format(of bytes: [UInt8]) -> Format? {
    Format.allCases.last { bytes.starts(with: $0.mark) }
  }

  /// A header whose seal was checked.
  struct Sealed {
    fileprivate let format: Format
    /// The bytes that begin with the header; a body may follow.
    fileprivate let file: [UInt8]
    /// The number of its bytes.
    let count: Int

    /// Seal and front.
    var bytes: [UInt8] { file.count == count ? file : Array(file[..<count]) }

    /// The header; `nil` if its values contradict each other.
    ///
    /// - Parameter isKept: whether the file lies in the durable folder.
    func header(isKept: Bool) -> ResponseFileHeader? {
      ResponseFileHeader(front: file[sealSize..<count], format, isKept: isKept)
    }
  }

  /// Checks the seal of the header that a file begins with; `nil` if anything in the header was changed.
  static func open(_ bytes: [UInt8]) -> Sealed? {
    guard let format = format(of: bytes), let end = bodyStart(bytes), bytes.count >= end else { return nil }
    guard let digest = try? digest(bytes[sealSize..<end]), digest.bytes.elementsEqual(bytes[lengthEnd..<sealSize])
    else { return nil }
    return Sealed(format: format, file: bytes, count: end)
  }

  init(_ entry: ResponseEntry, isInline: Bool) { (self.entry, self.isInline) = (entry, isInline) }

  /// Reads a front; `nil` if it is not one, or its values contradict each other.
  init?(front: ArraySlice<UInt8>, _ format: Format, isKept: Bool) {
    switch format {
    case .json:
      guard let record = try? JSONDecoder().decode(HeaderRecord.self, from: Data(front)),
        let entry = record.entry(isKept: isKept)
      else { return nil }
      self.init(entry, isInline: record.isInline)
    case .binary:
      guard let header = front.withUnsafeBytes({ HeaderReader.header($0, isKept: isKept) }) else { return nil }
      self = header
    }
  }
}

extension Extent {
  /// Returns `nil` for a part that cannot be.
  ///
  /// - Parameters:
  ///   - first: the first position of a part; `nil` for the whole.
  ///   - count: bytes stored.
  ///   - size: of the whole representation; `nil` if a part came without.
  init?(first: Int64?, count: Int64, size: Int64?) {
    guard count >= 0 else { return nil }
    guard let first else {
      self = .whole(count)
      return
    }
    guard first >= 0, first < .max - count else { return nil }
    self = .part(first..<(first + count), of: size)
  }
}

/// The front of a response's file as JSON, which PageKit wrote before fronts had a layout.
struct HeaderRecord: Decodable {
  let id: Int64
  let key: String
  let status: Int
  /// Name and value of each, in order.
  let fields: [[String]]
  let requestedAt: Int64
  let receivedAt: Int64
  let vary: [String: String?]
  /// The first byte of a part.
  let first: Int64?
  /// Bytes of the whole representation; `nil` if a part came without.
  let size: Int64?
  let isInvalidated: Bool
  /// `nil` also in files that were written before there was such a mark.
  let staleSince: Int64?
  let staleAt: Int64
  let userInfo: [String: String]
  let digest: SHA256Digest
  /// Bytes stored.
  let count: Int64
  /// They follow in the same file.
  let isInline: Bool
  let storedAt: Double

  /// Returns `nil` if its values contradict each other.
  func entry(isKept: Bool) -> ResponseEntry? {
    guard let key = CacheKey(text: key), (100...999).contains(status),
      let extent = Extent(first: first, count: count, size: size)
    else { return nil }
    var fields = HTTPFields()
    for pair in self.fields {
      guard pair.count == 2, let name = HTTPField.Name(pair[0]) else { return nil }
      fields.append(HTTPField(name: name, value: pair[1]))
    }
    var head = ResponseMetadata(
      status: status, fields: fields,
      times: ExchangeTimes(
        request: HTTPDate(secondsSinceEpoch: requestedAt), response: HTTPDate(secondsSinceEpoch: receivedAt)),
      vary: VaryKey(values: vary), extent: extent, isInvalidated: isInvalidated, staleAt: staleAt, userInfo: userInfo)
    head.staleSince = staleSince.map { HTTPDate(secondsSinceEpoch: $0) }
    return ResponseEntry(id: id, key: key, head: head, digest: digest, isKept: isKept, storedAt: storedAt)
  }
}
