import Foundation
import HTTPCaching
import HTTPTypes
import Logging
import PageCore

extension ResponseCache {
  /// For the bytes of a response that will be given to ``commit(_:_:)``. Nil where the store takes none.
  public func writer() -> (any ResponseWriting)? {
    do {
      return try store.writer()
    } catch {
      logger.warning("the response store takes nothing: \(error)")
      return nil
    }
  }

  /// A response whose bytes are all there.
  public struct Arrival: Sendable {
    public var key: CacheKey
    /// As it was sent: `Vary` looks at its fields.
    public var request: HTTPRequest
    public var status: Int
    /// Those that may be stored.
    public var fields: HTTPFields
    public var times: ExchangeTimes
    public var extent: Extent

    public init(
      key: CacheKey, request: HTTPRequest, status: Int, fields: HTTPFields, times: ExchangeTimes, extent: Extent
    ) {
      self.key = key
      self.request = request
      self.status = status
      self.fields = fields
      self.times = times
      self.extent = extent
    }
  }

  /// Makes a response visible, after the app's hook has seen it.
  ///
  /// - Returns: nil where it is not stored.
  @discardableResult
  public func commit(_ writer: any ResponseWriting, _ arrival: Arrival) async -> CachedResponse? {
    var proposal = ProposedResponse(
      request: arrival.request, body: writer,
      response: HTTPResponse(status: .init(code: arrival.status), headerFields: arrival.fields),
      storagePolicy: .allowed, userInfo: [:])
    if let willCache {
      guard let answer = await willCache(proposal) else {
        writer.discard()
        return nil
      }
      proposal = answer
    }
    return await store(proposal, arrival, writer)
  }

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

  private func store(
    _ proposal: ProposedResponse, _ arrival: Arrival, _ writer: any ResponseWriting
  ) async -> CachedResponse? {
    let fields = proposal.response.headerFields
    guard proposal.storagePolicy != .notAllowed,
      let vary = VaryKey(vary: fields, request: arrival.request.headerFields)
    else {
      writer.discard()
      return nil
    }
    var extent = arrival.extent
    if let replacement = proposal.replacement { extent = .whole(Int64(replacement.count)) }
    let head = head(
      status: proposal.response.status.code, fields: fields, times: arrival.times, vary: vary, extent: extent,
      userInfo: proposal.userInfo)
    let replaced = await responses(for: arrival.key, fields: arrival.request.headerFields).filter {
      $0.stored.vary.matches(arrival.request.headerFields)
    }
    let ids = Set(replaced.map(\.entry.id))
    let bytes = proposal.replacement ?? memoryBytes(of: writer)
    if proposal.storagePolicy == .allowed {
      do {
        let source = try proposal.replacement.map { try spool($0) } ?? writer
        if let entry = try await store.commit(source, head: head, for: arrival.key, replacing: replaced.map(\.entry)) {
          memory.remove(arrival.key, ids: ids)
          let response = CachedResponse(entry, bytes: bytes, policy: policy)
          if bytes != nil { memory.insert(response) }
          return response
        }
      } catch {
        logger.warning("a response cannot be stored: \(error)", metadata: ["key": "\(arrival.key)"])
      }
    }
    writer.discard()
    _ = try? await store.remove(.entries(Array(ids)))
    memory.remove(arrival.key, ids: ids)
    guard let bytes, let digest = try? ContentDigests(of: bytes).sha256 else { return nil }
    // Below zero are the names of what is in memory only.
    let entry = ResponseEntry(
      id: -.random(in: 1...Int64.max), key: arrival.key, head: head, digest: digest, isKept: false,
      storedAt: Double(arrival.times.response.secondsSinceEpoch))
    let response = CachedResponse(entry, bytes: bytes, policy: policy)
    return memory.insert(response) ? response : nil
  }

  private func spool(_ bytes: [UInt8]) throws -> any ResponseWriting {
    let writer = try store.writer()
    try writer.append(bytes)
    return writer
  }

  private func memoryBytes(of writer: any ResponseWriting) -> [UInt8]? {
    guard writer.count <= memory.capacity / 4 else { return nil }
    return try? writer.read(at: 0, upTo: Int(writer.count))
  }

  private func head(
    status: Int, fields: HTTPFields, times: ExchangeTimes, vary: VaryKey, extent: Extent, userInfo: [String: String]
  ) -> ResponseHead {
    var head = ResponseHead(
      status: status, fields: fields, times: times, vary: vary, extent: extent, staleAt: 0, userInfo: userInfo)
    let stored = StoredResponse(
      id: 0, status: status, fields: fields, times: times, vary: vary, extent: extent, policy: policy)
    head.staleAt =
      times.response.secondsSinceEpoch + Freshness(of: stored, at: times.response, rule: lifetime).remaining
    return head
  }

  /// The bytes were confirmed: a response gets these fields.
  public func update(_ response: CachedResponse, fields: HTTPFields, times: ExchangeTimes) async -> CachedResponse {
    let entry = response.entry
    let head = head(
      status: entry.head.status, fields: fields, times: times, vary: entry.head.vary, extent: entry.head.extent,
      userInfo: entry.head.userInfo)
    var updated = ResponseEntry(
      id: entry.id, key: entry.key, head: head, digest: entry.digest, isKept: entry.isKept, storedAt: entry.storedAt)
    if entry.id > 0 {
      do {
        if let stored = try await store.update(entry, head: head) { updated = stored }
      } catch {
        logger.warning("a stored response cannot be updated: \(error)", metadata: ["key": "\(entry.key)"])
      }
    }
    let fresh = CachedResponse(updated, bytes: response.bytes, policy: policy)
    if fresh.bytes != nil { memory.insert(fresh) }
    return fresh
  }

  /// What is stored for the keys may not be used without asking from now on.
  public func invalidate(_ keys: [CacheKey]) async {
    for key in keys { memory.remove(key) }
    do {
      try await store.invalidate(keys)
    } catch {
      // Rather nothing than something wrong.
      for key in keys { _ = try? await store.remove(.key(key)) }
      logger.warning("stored responses cannot be marked: \(error)")
    }
  }

  /// Something that has no URL, under a name.
  @discardableResult
  public func store(
    _ bytes: [UInt8], forKey name: String, storagePolicy: StoragePolicy = .allowed, userInfo: [String: String] = [:],
    in partition: CachePartition = .private, at now: HTTPDate
  ) async -> CachedResponse? {
    guard let writer = writer(), (try? writer.append(bytes)) != nil else { return nil }
    let arrival = Arrival(
      key: CacheKey(named: name, in: partition),
      request: HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil), status: 200,
      fields: [.date: now.description, .contentLength: String(bytes.count)],
      times: ExchangeTimes(request: now, response: now), extent: .whole(Int64(bytes.count)))
    let proposal = ProposedResponse(
      request: arrival.request, body: writer,
      response: HTTPResponse(status: .ok, headerFields: arrival.fields), storagePolicy: storagePolicy,
      userInfo: userInfo)
    return await store(proposal, arrival, writer)
  }

  /// What was stored under a name.
  public func response(forKey name: String, in partition: CachePartition = .private) async -> CachedResponse? {
    await responses(for: CacheKey(named: name, in: partition)).last
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
  /// Where it begins.
  fileprivate var start: Int64 { if case .part(let range, _) = self { range.lowerBound } else { 0 } }
}
