import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging

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

  /// A response with the fields that confirmed its bytes, for the request that they answer alone: what is stored stays
  /// as it is.
  ///
  /// - Parameter vary: whom it is for; `nil` for the same as before.
  func confirmed(
    _ response: CachedResponse, fields: HTTPFields, times: ExchangeTimes, vary: VaryKey? = nil
  ) -> CachedResponse {
    let entry = response.entry
    let head = head(
      status: entry.head.status, fields: fields, times: times, vary: vary ?? entry.head.vary, extent: entry.head.extent,
      userInfo: entry.head.userInfo)
    let fresh = ResponseEntry(
      id: entry.id, key: entry.key, head: head, digest: entry.digest, isKept: entry.isKept, storedAt: entry.storedAt)
    return self.response(fresh, bytes: response.bytes, epoch: response.epoch)
  }

  /// - Parameter epoch: of the key before the store was asked: if the key was changed since then, the response does not
  ///   come into memory with its bytes.
  private func response(_ entry: ResponseEntry, bytes: [UInt8]?, epoch: UInt64) -> CachedResponse {
    // They may have come into memory since the response was looked up.
    let bytes = bytes ?? memory.variants(for: entry.key).first { $0.entry.id == entry.id }?.bytes
    return CachedResponse(entry, bytes: bytes, policy: policy, epoch: epoch)
  }

  /// Marks what is stored for the keys: from now on it may not be used without asking.
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

  /// Returns the bytes that were stored under a name. They are in its `bytes`, or ``body(of:)`` reads them from the disk.
  public func response(forKey name: String, in partition: CachePartition = .private) async -> CachedResponse? {
    await responses(for: CacheKey(named: name, in: partition)).last
  }
}
