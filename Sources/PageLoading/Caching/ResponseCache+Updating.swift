import HTTPCaching
import HTTPTypes
import Logging
import PageCore

extension ResponseCache {
  /// The bytes were confirmed: a response gets these fields.
  ///
  /// - Parameter vary: whom it is for from now on; `nil` for the same as before.
  public func update(
    _ response: CachedResponse, fields: HTTPFields, times: ExchangeTimes, vary: VaryKey? = nil
  ) async -> CachedResponse {
    let entry = response.entry
    let head = head(
      status: entry.head.status, fields: fields, times: times, vary: vary ?? entry.head.vary, extent: entry.head.extent,
      userInfo: entry.head.userInfo)
    func updated(_ entry: ResponseEntry) -> CachedResponse {
      // They may have come into memory since the response was looked up.
      let bytes = response.bytes ?? memory.variants(for: entry.key).first { $0.entry.id == entry.id }?.bytes
      return CachedResponse(entry, bytes: bytes, policy: policy, epoch: memory.epoch(of: entry.key))
    }
    var isStored = entry.id < 0
    var fresh = ResponseEntry(
      id: entry.id, key: entry.key, head: head, digest: entry.digest, isKept: entry.isKept, storedAt: entry.storedAt)
    let epoch = memory.epoch(of: entry.key)
    if entry.id > 0 {
      do {
        if let stored = try await store.update(entry, head: head) { (fresh, isStored) = (stored, true) }
      } catch {
        isStored = true
        logger.warning("a stored response cannot be updated: \(error)", metadata: ["key": "\(entry.key)"])
      }
    }
    let result = updated(fresh)
    if !isStored {
      // It was removed meanwhile.
      memory.remove(entry.key, ids: [entry.id])
    } else if entry.id > 0, result.bytes != nil {
      memory.insert(result, since: epoch)
    } else {
      memory.replace(result)
    }
    return result
  }

  /// What is stored for the keys may not be used without asking from now on.
  public func invalidate(_ keys: [CacheKey]) async {
    func forget() { for key in keys { memory.remove(key) } }
    do {
      try await forgetting(forget, while: { try await store.invalidate(keys) })
    } catch {
      // Rather nothing than something wrong.
      for key in keys { _ = try? await store.remove(.key(key)) }
      forget()
      logger.warning("stored responses cannot be marked: \(error)")
    }
  }

  // MARK: What has no URL

  /// Something that has no URL, under a name.
  @discardableResult
  public func store(
    _ bytes: [UInt8], forKey name: String, storagePolicy: StoragePolicy = .allowed, userInfo: [String: String] = [:],
    in partition: CachePartition = .private, at now: HTTPDate
  ) async -> CachedResponse? {
    let arrival = Arrival(
      key: CacheKey(named: name, in: partition),
      request: HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil), status: 200,
      fields: [.date: now.description, .contentLength: String(bytes.count)],
      times: ExchangeTimes(request: now, response: now), extent: .whole(Int64(bytes.count)))
    let proposal = ProposedResponse(
      request: arrival.request, body: BytesBody(bytes),
      response: HTTPResponse(status: .ok, headerFields: arrival.fields), replacement: bytes,
      storagePolicy: storagePolicy, userInfo: userInfo)
    return await store(proposal, arrival, nil)
  }

  /// What was stored under a name.
  public func response(forKey name: String, in partition: CachePartition = .private) async -> CachedResponse? {
    await responses(for: CacheKey(named: name, in: partition)).last
  }
}
