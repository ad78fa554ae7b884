import Blobs
import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Synchronization

extension ResourceLoader {
  /// Yields what is stored at once, if the behaviour calls for that, and then what the network says. Ending the loop
  /// cancels what is left of the work.
  public func updates(for request: ResourceRequest) -> AsyncStream<ResourceUpdate> {
    let (updates, continuation) = AsyncStream.makeStream(of: ResourceUpdate.self)
    let task = tasks.start { [self] in
      await produce(request) { continuation.yield($0) }
      continuation.finish()
    }
    continuation.onTermination = { _ in task.cancel() }
    return updates
  }

  private func produce(_ request: ResourceRequest, _ yield: (ResourceUpdate) -> Void) async {
    var cached: Resource?
    do {
      let prepared = try prepare(request)
      let first = try await load(prepared)
      switch first.source {
      case .network: return yield(.network(first))
      case .revalidated: return yield(.notModified(first))
      case .local where first.status >= 400:
        return yield(.failed(LoadFailure(error: nil, answer: first, generation: first.generation)))
      case .memory, .disk, .release, .local: yield(.cached(first))
      }
      cached = first
      guard first.source.isCache, let refresh = refresh(of: prepared, after: first) else { return }
      let second = try await load(refresh.request)
      yield(try await update(second, after: first))
    } catch {
      if Task.isCancelled { return }
      yield(
        .failed(LoadFailure(error: error, answer: nil, generation: cached?.generation ?? inFlight.currentGeneration)))
    }
  }

  /// The update for callers that were given a stored response before.
  private func update(_ second: Resource, after first: Resource) async throws -> ResourceUpdate {
    // What never changes is not asked about while it is fresh, and comes from the cache again. RFC 8246 §2.
    if second.source != .network { return .notModified(second) }
    if second.status >= 400 {
      return .failed(LoadFailure(error: nil, answer: try await whole(second), generation: second.generation))
    }
    let complete = try await whole(second)
    // The store knows the digest of what came over the wire.
    let stored = try? await second.incoming?.stored()
    let isSame = stored != nil && stored?.digest == first.digest
    return isSame ? .notModified(complete) : .network(complete)
  }

  /// The same, when all of its body has come. It waits in a file where the cache has a folder.
  private func whole(_ loaded: Resource) async throws -> Resource {
    if let incoming = loaded.incoming {
      _ = try await incoming.stored()
      return loaded
    }
    var body = try await kept(loaded)
    (body.url, body.isDecoded) = (loaded.body.url, loaded.body.isDecoded)
    return Resource(
      url: loaded.url, response: loaded.response, body: body, source: loaded.source, age: loaded.age,
      generation: loaded.generation, cacheStatus: loaded.cacheStatus, userInfo: loaded.userInfo)
  }

  /// The body of a response that is not stored.
  private func kept(_ loaded: Resource) async throws -> Body {
    let limit = configuration.bodyLimit
    guard loaded.body.bytesInMemory == nil, let spool = cache.writer() else {
      return Body(try await loaded.body.collect(upTo: limit))
    }
    defer { spool.discard() }
    let reader = loaded.body.reader()
    while let chunk = try await reader.nextChunk() {
      guard spool.count + Int64(chunk.count) <= limit else {
        throw TransportError.tooLarge(url: loaded.body.url, limit: limit)
      }
      do {
        try spool.append(chunk)
      } catch is StoreError {
        // The disk is full.
        let beginning = try spool.read(at: 0, upTo: Int(spool.count)) + chunk
        let rest = Body(next: { try await reader.nextChunk() })
        return Body(beginning + (try await rest.collect(upTo: limit - Int64(beginning.count))))
      }
    }
    return Body(spool, 0..<spool.count)
  }
}

/// Work that goes on behind an answer: one at a time for each name, and all of it can be waited for.
final class BackgroundWork: Sendable {
  enum Name: Hashable, Sendable {
    /// Asking again for what was answered from the cache.
    case refresh(FlightKey)
    /// Asking whether what was served stale is still valid.
    case revalidation(FlightKey)
    /// An answer that came too late for who had asked.
    case late(UUID)
  }

  private let names = Mutex<[Name: Task<Void, any Error>]>([:])
  private let tasks: RunningTasks

  init(_ tasks: RunningTasks) { self.tasks = tasks }

  func run(_ name: Name, _ work: @escaping @Sendable () async throws -> Void) {
    names.withLock { names in
      guard names[name] == nil else { return }
      names[name] = tasks.start {
        try? await work()
        self.names.withLock { $0[name] = nil }
      }
    }
  }

  func finish() async {
    while let task = names.withLock({ $0.values.first }) { _ = await task.result }
  }
}
