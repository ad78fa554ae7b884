import HTTPCaching
import HTTPTransport
import HTTPTypes

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
