import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging

/// Fetches what bundles will ask for into the response cache, and keeps it there for when there is no network.
package struct Prefetcher: Sendable {
  private let loader: ResourceLoader
  private let jobs: Int

  /// - Parameter jobs: requests at once.
  package init(_ loader: ResourceLoader, jobs: Int = 4) {
    self.loader = loader
    self.jobs = jobs
  }

  /// Fetches and keeps the responses of URLs, as ``Prefetch`` says.
  package func prefetch(_ references: [String], base: PageURL?, dropping dropped: [String] = []) async -> PrefetchReport
  {
    for reference in Set(dropped).subtracting(references) {
      for key in await keys(reference, base) { _ = try? await loader.cache.unkeep(key) }
    }
    var report = PrefetchReport()
    var waiting = Array(Set(references)).sorted()[...]
    await withTaskGroup(of: (String, Result<Bool, any Error>).self) { group in
      func startNext() {
        guard let reference = waiting.popFirst() else { return }
        group.addTask { (reference, await fetch(reference, base)) }
      }
      for _ in 0..<jobs { startNext() }
      for await (reference, result) in group {
        switch result {
        case .success(true): report.kept += 1
        case .success(false): report.skipped += 1
        case .failure(let error):
          report.failures.append("\(reference): \(error.sentence)")
          if (error as? PrefetchFault)?.isTransient ?? RetryPolicy.mayPass(error) { report.passing.insert(reference) }
        }
        startNext()
      }
    }
    report.failures.sort()
    return report
  }

  /// The keys of a reference, and of the URLs that its stored redirects lead to.
  private func keys(_ reference: String, _ base: PageURL?) async -> [CacheKey] {
    guard
      case .network(var outgoing, let request)? = try? loader.requests.prepare(ResourceRequest(reference, base: base))
    else { return [] }
    var keys = [outgoing.key]
    var visited: [PageURL] = []
    while let stored = await loader.cache.responses(for: outgoing.key, fields: outgoing.head.headerFields).last?.stored,
      case .follow(let target) = RedirectDecision(for: stored.head, at: outgoing.url, visited: visited, ignoring: [])
    {
      visited.append(outgoing.url)
      outgoing = loader.requests.redirected(outgoing, to: target, status: stored.status, request)
      keys.append(outgoing.key)
    }
    return keys
  }

  /// Returns `false` if the data saver does not allow it.
  private func fetch(_ reference: String, _ base: PageURL?) async -> Result<Bool, any Error> {
    guard loader.saver.allowsIdleWork else { return .success(false) }
    do {
      // Only bytes that come over the wire are spent.
      let loaded = try await loader.response(
        for: ResourceRequest(
          reference, base: base, behavior: .protocolCache, priority: .idle, keepsContentEncoding: true))
      var received: Int64 = 0
      for try await chunk in loaded.body { received += Int64(chunk.count) }
      if loaded.source == .network { loader.saver.spend(received) }
      guard loaded.status < 400 else { throw PrefetchFault.status(loaded.status) }
      // The bundle store has it.
      if loaded.source == .release { return .success(true) }
      for key in await keys(reference, base) {
        guard try await loader.cache.keep(key) else {
          _ = try await loader.cache.unkeep(key)
          throw PrefetchFault.notStorable
        }
      }
      return .success(true)
    } catch {
      return .failure(error)
    }
  }
}

private enum PrefetchFault: Error, CustomStringConvertible {
  case status(Int)
  case notStorable

  var isTransient: Bool { if case .status(let status) = self { HTTPFault.isTransient(status) } else { false } }

  var description: String {
    switch self {
    case .status(let status): "the server answers \(status)"
    case .notStorable: "its server does not let it be stored"
    }
  }
}
