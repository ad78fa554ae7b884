import HTTPCaching
import HTTPTypes
import PageCore

extension ResourceLoader {
  /// What is stored at once, where the behaviour calls for that, and then what the network says. Ending the loop
  /// cancels what is left of the work.
  public func updates(for request: ResourceRequest) -> AsyncStream<LoadUpdate> {
    let (updates, continuation) = AsyncStream.makeStream(of: LoadUpdate.self)
    let task = tasks.start { [self] in
      await produce(request) { continuation.yield($0) }
      continuation.finish()
    }
    continuation.onTermination = { _ in task.cancel() }
    return updates
  }

  private func produce(_ request: ResourceRequest, _ yield: (LoadUpdate) -> Void) async {
    var cached: Loaded?
    do {
      let (first, remaining, _) = try await load(request)
      switch first.source {
      case .network: return yield(.network(first))
      case .revalidated: return yield(.notModified(first))
      case .local where first.status >= 400:
        return yield(.failed(LoadFailure(error: nil, answer: first, generation: first.generation)))
      case .memory, .disk, .release, .local: yield(.cached(first))
      }
      cached = first
      guard first.source.isCache, let refresh = refresh(of: request, remaining: remaining) else { return }
      let second = try await load(refresh.request).loaded
      yield(try await update(second, after: first))
    } catch {
      if Task.isCancelled { return }
      yield(.failed(LoadFailure(error: error, answer: nil, generation: cached?.generation ?? generations.current)))
    }
  }

  /// What an answer is to those who have had a stored one.
  private func update(_ second: Loaded, after first: Loaded) async throws -> LoadUpdate {
    // What never changes is not asked about while it is fresh, and comes from the cache again. RFC 8246 §2.
    if second.source != .network { return .notModified(second) }
    if second.status >= 400 {
      return .failed(LoadFailure(error: nil, answer: try await whole(second), generation: second.generation))
    }
    let complete = try await whole(second)
    // The store knows the digest of what came over the wire.
    let stored = try? await second.incoming?.stored()
    let isSame = stored != nil && stored?.entry.digest == first.digest
    return isSame ? .notModified(complete) : .network(complete)
  }

  /// The same with its body in memory.
  private func whole(_ loaded: Loaded) async throws -> Loaded {
    let bytes = try await loaded.body.bytes(upTo: configuration.bodyLimit)
    return Loaded(
      url: loaded.url, response: loaded.response, body: LoadedBody(bytes, isDecoded: loaded.body.isDecoded),
      source: loaded.source, age: loaded.age,
      generation: loaded.generation, cacheStatus: loaded.cacheStatus, userInfo: loaded.userInfo)
  }
}
