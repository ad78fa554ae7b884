import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes

/// The header in front of the body in a response's file: enough to build the index anew.
struct ResponseFileHeader: Codable, Sendable {
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

  init(_ entry: ResponseEntry, isInline: Bool) {
    let head = entry.head
    id = entry.id
    key = entry.key.description
    status = head.status
    fields = head.fields.map { [$0.name.rawName, $0.value] }
    requestedAt = head.times.request.secondsSinceEpoch
    receivedAt = head.times.response.secondsSinceEpoch
    vary = head.vary.values
    if case .part(let range, _) = head.extent { first = range.lowerBound } else { first = nil }
    size = head.extent.size
    isInvalidated = head.isInvalidated
    staleSince = head.staleSince?.secondsSinceEpoch
    staleAt = head.staleAt
    userInfo = head.userInfo
    digest = entry.digest
    count = head.extent.count
    self.isInline = isInline
    storedAt = entry.storedAt
  }

  /// Returns `nil` if its values contradict each other.
  func entry(isKept: Bool) -> ResponseEntry? {
    guard let key = CacheKey(text: key), count >= 0, (100...999).contains(status) else { return nil }
    var fields = HTTPFields()
    for pair in self.fields {
      guard pair.count == 2, let name = HTTPField.Name(pair[0]) else { return nil }
      fields.append(HTTPField(name: name, value: pair[1]))
    }
    let extent: Extent
    if let first {
      guard first >= 0, first < .max - count else { return nil }
      extent = .part(first..<(first + count), of: size)
    } else {
      extent = .whole(count)
    }
    var head = ResponseMetadata(
      status: status, fields: fields,
      times: ExchangeTimes(
        request: HTTPDate(secondsSinceEpoch: requestedAt), response: HTTPDate(secondsSinceEpoch: receivedAt)),
      vary: VaryKey(values: vary), extent: extent, isInvalidated: isInvalidated, staleAt: staleAt, userInfo: userInfo)
    head.staleSince = staleSince.map { HTTPDate(secondsSinceEpoch: $0) }
    return ResponseEntry(id: id, key: key, head: head, digest: digest, isKept: isKept, storedAt: storedAt)
  }

  // MARK: Bytes

  private static let magic = Array("PKR1".utf8)
  private static let frontLimit = 4 << 20

  /// How a file begins: a mark, the front's length and its digest, the front. Nil where it would be too long.
  func sealed() throws -> [UInt8]? {
    let front = Array(try JSONEncoder().encode(self))
    guard front.count <= Self.frontLimit else { return nil }
    let length = UInt32(front.count)
    let lengthBytes = (0..<4).map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) }
    return Self.magic + lengthBytes + (try Self.digest(front)).bytes + front
  }

  /// Bytes before the front itself.
  static let sealSize = magic.count + 4 + SHA256Digest.byteCount

  /// The position of an inline body, from a file's first bytes; `nil` if they are not such a file's.
  static func bodyStart(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= sealSize, bytes.starts(with: magic) else { return nil }
    let length = (0..<4).reduce(0) { $0 | Int(bytes[magic.count + $1]) << ($1 * 8) }
    return length <= frontLimit ? sealSize + length : nil
  }

  /// The header without its seal; `nil` if one of them was changed.
  static func open(_ bytes: [UInt8]) -> (sealed: [UInt8], front: [UInt8])? {
    guard let end = bodyStart(bytes), bytes.count >= end else { return nil }
    let front = Array(bytes[sealSize..<end])
    guard let digest = try? digest(front), digest.bytes.elementsEqual(bytes[(magic.count + 4)..<sealSize]) else {
      return nil
    }
    return (Array(bytes[..<end]), front)
  }

  static func decode(_ front: [UInt8]) throws -> ResponseFileHeader {
    try JSONDecoder().decode(ResponseFileHeader.self, from: Data(front))
  }

  private static func digest(_ bytes: [UInt8]) throws -> SHA256Digest {
    var digester = try Digester.sha256()
    digester.update(bytes)
    return try digester.finish()
  }
}
