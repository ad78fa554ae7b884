import HTTPCaching
import HTTPTransport
import HTTPTypes

extension ResponseCache {
  /// Makes a part of a representation visible: together with what there is of the same, where the two touch; never in
  /// the place of something whole. RFC 9111 §3.4.
  func commitPart(_ writer: any ResponseWriting, _ arrival: Arrival) async -> CachedResponse? {
    let others = await responses(for: arrival.key, fields: arrival.request.headerFields).filter {
      $0.stored.vary.matches(arrival.request.headerFields)
    }
    let etag = Validators(of: arrival.fields).strongETag
    if others.contains(where: { $0.stored.extent.isWhole }) {
      writer.discard()
      return nil
    }
    for other in others where etag != nil && other.stored.validators.strongETag == etag {
      guard let extent = other.stored.extent.joined(with: arrival.extent), let body = await body(of: other),
        let joined = try? join(body, at: other.stored.extent, writer, at: arrival.extent)
      else { continue }
      var arrival = arrival
      arrival.extent = extent
      return await commit(joined, arrival)
    }
    return await commit(writer, arrival)
  }

  private func join(
    _ first: any StoredBody, at firstExtent: Extent, _ second: any StoredBody, at secondExtent: Extent
  ) throws -> any ResponseWriting {
    let (lower, upper) =
      firstExtent.start <= secondExtent.start
      ? ((first, firstExtent), (second, secondExtent)) : ((second, secondExtent), (first, firstExtent))
    let spool = try store.writer()
    try spool.append(contentsOf: lower.0, from: 0)
    let end = lower.1.start + lower.0.count
    try spool.append(contentsOf: upper.0, from: max(0, end - upper.1.start))
    return spool
  }
}

extension ResponseWriting {
  /// Copies the rest of another body.
  func append(contentsOf body: any StoredBody, from start: Int64) throws {
    var position = start
    while position < body.count {
      let piece = try body.read(at: position, upTo: 256 << 10)
      guard !piece.isEmpty else { return }
      try append(piece)
      position += Int64(piece.count)
    }
  }
}

extension Extent {
  /// The position of its first byte.
  fileprivate var start: Int64 { if case .part(let range, _) = self { range.lowerBound } else { 0 } }
}
