import Foundation
import HTTPCache
import HTTPTransport
import HTTPTypes
import ScriptEngine

extension DescribedError {
  /// The error of a response with a status that is of no use here.
  init(of url: String, status: Int) { self.init("\(url): the server answers \(status)") }
}

extension PageInstance {
  /// Resolves a reference of the page against its URL.
  func resolve(_ reference: String) -> PageURL? {
    url.map { $0.resolving(reference) } ?? PageURL(reference)
  }

  /// Sends a request of this page through its rewriters and handlers to the loader, and gives the answers as they come.
  ///
  /// - Parameter request: its base and partition are the page's unless they are set.
  public func updates(for request: ResourceRequest) -> AsyncStream<ResourceUpdate> {
    var request = rewritten(request)
    request.snapshot = request.snapshot ?? view
    let target = resolve(SchemeRelativeRewriter().rewrite(request.reference, for: request))
    timings.requests += 1
    return registry.answers(to: request, target, page: id, environment.resources)(request)
  }

  /// Applies the app's rewriters to a request.
  func rewritten(_ request: ResourceRequest) -> ResourceRequest {
    var request = request
    request.base = request.base ?? url
    request.partition = request.partition ?? partition
    for rewriter in registry.handlers.rewriters {
      request.reference = rewriter.rewrite(request.reference, for: request)
    }
    return request
  }

  /// The description of the device and the app that the page's scripts get.
  var configuration: DefaultConfiguration { registry.handlers.configuration ?? environment.configuration }

  /// Sends a request, and counts its answers in ``timings``.
  ///
  /// - Parameter limit: the time after which the request fails and is given up; `nil` for no limit.
  func counted(for request: ResourceRequest, within limit: Duration? = nil) -> AsyncStream<ResourceUpdate> {
    let source = updates(for: request)
    return AsyncStream { continuation in
      let relay = Task { @PageActor [weak self] in
        for await update in source {
          self?.count(update)
          continuation.yield(update)
        }
        continuation.finish()
      }
      let alarm = limit.map { limit in
        Task {
          try await Task.sleep(for: limit)
          relay.cancel()
          continuation.yield(.failed(LoadFailure(DescribedError("the request took longer than its timeout"))))
          continuation.finish()
        }
      }
      continuation.onTermination = { _ in
        relay.cancel()
        alarm?.cancel()
      }
    }
  }

  private func count(_ update: ResourceUpdate) {
    switch update {
    case .cached(let loaded):
      timings.hits += 1
      timings.bytes += loaded.length
    case .network(let loaded), .notModified(let loaded):
      if loaded.source != .network { timings.hits += 1 }
      timings.bytes += loaded.length
    case .failed: break
    }
  }
}

extension Resource {
  fileprivate var length: Int64 {
    response.headerFields[.contentLength].flatMap { Int64($0) } ?? Int64(body.bytesInMemory?.count ?? 0)
  }
}

extension PageInstance {
  /// Loads something that the page opens from. The load is cancelled if the page ends or is opened again.
  ///
  /// - Throws: ``PageError/destroyed``, ``PageError/superseded``, and the errors of `body`.
  func loading<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let load = Task { try await body() }
    let key = UUID()
    loads[key] = { load.cancel() }
    let result = await withTaskCancellationHandler {
      await load.result
    } onCancel: {
      load.cancel()
    }
    guard loads.removeValue(forKey: key) != nil else { throw superseded }
    return try result.get()
  }

  func cancelLoads() {
    for cancel in loads.values { cancel() }
    loads = [:]
  }

  /// The error of an opening that was superseded by the page's end or by another opening.
  var superseded: PageError { phase == .destroyed ? .destroyed : .superseded }
}
