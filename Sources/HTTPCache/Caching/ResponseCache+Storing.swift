import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging

extension ResponseCache {
  /// Opens a file for the bytes of a response that will be given to ``commit(_:_:)``. Returns `nil` if the store accepts
  /// none.
  package func writer() -> (any ResponseWriting)? {
    do {
      return try store.writer()
    } catch {
      warnOfWriting(error)
      return nil
    }
  }

  /// A response whose bytes are all there.
  package struct Arrival: Sendable {
    /// The key it is stored under.
    package var key: CacheKey
    /// As it was sent: `Vary` looks at its fields.
    package var request: HTTPRequest
    /// The status it is stored with.
    package var status: Int
    /// Those that may be stored.
    package var fields: HTTPFields
    /// When it was asked for, and when its head came. RFC 9111 §4.2.3.
    package var times: ExchangeTimes
    /// Which bytes of the representation there are.
    package var extent: Extent

    /// A response whose bytes are all in a writer.
    ///
    /// - Parameters:
    ///   - request: as it was sent.
    ///   - fields: those that may be stored.
    package init(
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
  /// - Returns: `nil` if it is not stored.
  @discardableResult
  package func commit(_ writer: any ResponseWriting, _ arrival: Arrival) async -> CachedResponse? {
    guard let willCache else { return await store(arrival, writer) }
    let response = HTTPResponse(status: .init(code: arrival.status), headerFields: arrival.fields)
    let proposed = ProposedResponse(
      request: arrival.request, body: writer, response: response, storagePolicy: .allowed, userInfo: [:])
    guard let chosen = await willCache(proposed) else {
      writer.discard()
      return nil
    }
    var arrival = arrival
    (arrival.status, arrival.fields) = (chosen.response.status.code, chosen.response.headerFields)
    return await store(
      arrival, writer, replacement: chosen.replacement, chosen.storagePolicy, userInfo: chosen.userInfo)
  }

  /// Makes a response visible.
  ///
  /// - Parameters:
  ///   - writer: the bytes; `nil` if there is a replacement.
  ///   - replacement: bytes that are stored in the place of those.
  private func store(
    _ arrival: Arrival, _ writer: (any ResponseWriting)?, replacement: [UInt8]? = nil,
    _ storagePolicy: StoragePolicy = .allowed, userInfo: [String: String] = [:]
  ) async -> CachedResponse? {
    defer { writer?.discard() }
    var fields = arrival.fields
    var extent = arrival.extent
    if let replacement {
      extent = .whole(Int64(replacement.count))
      if fields[.contentLength] != nil { fields[.contentLength] = String(replacement.count) }
    }
    let count = replacement.map { Int64($0.count) } ?? writer?.count
    guard storagePolicy != .notAllowed, count == extent.count,
      let vary = VaryKey(vary: fields, request: arrival.request.headerFields)
    else { return nil }
    let head = head(
      status: arrival.status, fields: fields, times: arrival.times, vary: vary, extent: extent, userInfo: userInfo)
    let replaced = await responses(for: arrival.key, fields: arrival.request.headerFields).filter {
      $0.stored.vary.matches(arrival.request.headerFields)
    }
    if storagePolicy == .allowed,
      let stored = await storeOnDisk(head, arrival.key, writer, replacement, replacing: replaced)
    {
      return stored
    }
    return await storeInMemory(
      head, arrival, memoryBytes(writer, replacement, upTo: Int64(memory.capacity / 4)), replacing: replaced,
      isMeant: storagePolicy == .memoryOnly)
  }

  private func storeOnDisk(
    _ head: ResponseMetadata, _ key: CacheKey, _ writer: (any ResponseWriting)?, _ replacement: [UInt8]?,
    replacing replaced: [CachedResponse]
  ) async -> CachedResponse? {
    tellUses()
    let bytes = memoryBytes(writer, replacement, upTo: memoryLimit)
    let ids = Set(replaced.map(\.id))
    do {
      guard let source = try replacement.map({ try spool($0) }) ?? writer else { return nil }
      memory.remove(key, ids: ids)
      let epoch = memory.epoch(of: key)
      guard let entry = try await store.commit(source, head: head, for: key, replacing: replaced.map(\.entry)) else {
        return nil
      }
      recordWritten()
      let response = CachedResponse(entry, bytes: bytes, policy: policy)
      // Others may have read the former ones meanwhile.
      if bytes != nil { memory.insert(response, replacing: ids, since: epoch) } else { memory.remove(key, ids: ids) }
      return response
    } catch {
      warnOfWriting(error)
      return nil
    }
  }

  /// - Parameter isMeant: `true` if the hook restricted it to memory; `false` if the disk has no room, so that kept
  ///   responses stay.
  private func storeInMemory(
    _ head: ResponseMetadata, _ arrival: Arrival, _ bytes: [UInt8]?, replacing replaced: [CachedResponse], isMeant: Bool
  ) async -> CachedResponse? {
    let ids = replaced.filter { isMeant || !$0.isKept }.map(\.id)
    _ = try? await store.remove(.entries(ids))
    memory.remove(arrival.key, ids: Set(replaced.map(\.id)))
    guard let bytes, let digest = try? ContentDigests(of: bytes).sha256 else { return nil }
    // Negative ids: responses that are only in memory.
    let entry = ResponseEntry(
      id: -Int64(UniqueNumber.next() >> 1) - 1, key: arrival.key, head: head, digest: digest, isKept: false,
      storedAt: Double(arrival.times.response.secondsSinceEpoch))
    let response = CachedResponse(entry, bytes: bytes, policy: policy)
    // It is not on disk.
    return memory.insert(response, isUse: true) ? response : nil
  }

  private func spool(_ bytes: [UInt8]) throws -> any ResponseWriting {
    let writer = try store.writer()
    try writer.append(bytes)
    return writer
  }

  /// - Returns: `nil` if there are more.
  private func memoryBytes(
    _ writer: (any ResponseWriting)?, _ replacement: [UInt8]?, upTo limit: Int64
  ) -> [UInt8]? {
    if let replacement { return Int64(replacement.count) <= limit ? replacement : nil }
    guard let writer, writer.count <= limit else { return nil }
    return try? writer.read(at: 0, upTo: Int(writer.count))
  }

  func head(
    status: Int, fields: HTTPFields, times: ExchangeTimes, vary: VaryKey, extent: Extent, userInfo: [String: String]
  ) -> ResponseMetadata {
    // Those that came have room for others, which would stay with them in memory.
    var exact = HTTPFields()
    exact.reserveCapacity(fields.count)
    exact.append(contentsOf: fields)
    var head = ResponseMetadata(
      status: status, fields: exact, times: times, vary: vary, extent: extent, staleAt: 0, userInfo: userInfo)
    let stored = StoredResponse(id: 0, head, policy: policy)
    head.staleAt =
      times.response.secondsSinceEpoch + Freshness(of: stored, at: times.response, rule: lifetime).remaining
    return head
  }
}

extension ResponseCache {
  /// Stores a response with the fields that confirmed its bytes.
  ///
  /// - Parameter vary: whom it is for from now on; `nil` for the same as before.
  package func update(
    _ response: CachedResponse, fields: HTTPFields, times: ExchangeTimes, vary: VaryKey? = nil
  ) async -> CachedResponse {
    let confirmed = confirmed(response, fields: fields, times: times, vary: vary)
    var fresh = confirmed.entry
    var isStored = fresh.id < 0
    let epoch = memory.epoch(of: fresh.key)
    if fresh.id > 0 {
      do {
        if let stored = try await store.update(response.entry, head: fresh.head) { (fresh, isStored) = (stored, true) }
      } catch {
        isStored = true
        warnOfWriting(error)
      }
    }
    let result = self.response(fresh, bytes: response.bytes, epoch: epoch)
    if !isStored {
      // It was removed meanwhile.
      memory.remove(fresh.key, ids: [fresh.id])
    } else if fresh.id > 0, result.bytes != nil {
      memory.insert(result, since: epoch)
    } else {
      memory.replace(result)
    }
    return result
  }

  /// A response with the fields that confirmed its bytes, for the request that they answer alone: the stored response
  /// stays as it is.
  ///
  /// - Parameter vary: whom it is for; `nil` for the same as before.
  func confirmed(
    _ response: CachedResponse, fields: HTTPFields, times: ExchangeTimes, vary: VaryKey? = nil
  ) -> CachedResponse {
    let entry = response.entry
    let head = head(
      status: entry.head.status, fields: fields, times: times, vary: vary ?? entry.head.vary, extent: entry.head.extent,
      userInfo: entry.head.userInfo)
    return self.response(entry.with(head: head), bytes: response.bytes, epoch: response.epoch)
  }

  /// - Parameter epoch: of the key before the store was asked: if the key was changed since then, the response does not
  ///   come into memory with its bytes.
  private func response(_ entry: ResponseEntry, bytes: [UInt8]?, epoch: UInt64) -> CachedResponse {
    // They may have come into memory since the response was looked up.
    let bytes = bytes ?? memory.variants(for: entry.key).first { $0.id == entry.id }?.bytes
    return CachedResponse(entry, bytes: bytes, policy: policy, epoch: epoch)
  }

  /// Marks the stored responses of the keys: from now on they may not be used without asking.
  package func invalidate(_ keys: [CacheKey]) async {
    func forget() { for key in keys { memory.remove(key) } }
    do {
      try await forgetting(forget, while: { try await store.invalidate(keys) })
    } catch {
      // Rather nothing than something wrong.
      for key in keys { _ = try? await store.remove(.key(key)) }
      forget()
      warnOfWriting(error)
    }
  }

  // MARK: What has no URL

  /// Stores bytes that have no URL under a name.
  ///
  /// - Parameters:
  ///   - storagePolicy: the place where they may be kept.
  ///   - userInfo: metadata of the app, which comes with the bytes.
  ///   - now: the time from which the region's lifetime counts.
  /// - Returns: `nil` if they are not stored.
  @discardableResult
  public func store(
    _ bytes: some Sequence<UInt8> & Sendable, forKey name: String, storagePolicy: StoragePolicy = .allowed,
    userInfo: [String: String] = [:],
    in partition: CachePartition = .private, at now: HTTPDate
  ) async -> CachedResponse? {
    let bytes = Array(bytes)
    let arrival = Arrival(
      key: CacheKey(named: name, in: partition),
      request: HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil), status: 200,
      fields: [.date: now.description, .contentLength: String(bytes.count)],
      times: ExchangeTimes(request: now, response: now), extent: .whole(Int64(bytes.count)))
    return await store(arrival, nil, replacement: bytes, storagePolicy, userInfo: userInfo)
  }

  /// Returns the bytes that were stored under a name. They are in its `bytes`, or ``content(of:)`` reads them from the disk.
  public func response(forKey name: String, in partition: CachePartition = .private) async -> CachedResponse? {
    await responses(for: CacheKey(named: name, in: partition)).last
  }
}
