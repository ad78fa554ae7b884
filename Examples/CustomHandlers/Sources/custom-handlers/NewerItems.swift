import Foundation
import PageKit

/// Answers a request for a list: what is stored, and what has come since the last one of it. The server is asked for
/// nothing else; while it is silent, the stored list is the answer.
struct NewerItems: ResourceRequestHandling {
  let list: CacheStorage

  private struct Item: Codable {
    let id: Int
    let name: String
  }

  func updates(
    for request: ResourceRequest, next: @escaping ResourceHandlerChain.Next
  ) -> AsyncStream<LoadUpdate> {
    AsyncStream { continuation in
      let work = Task {
        for await update in await merged(request, next) { continuation.yield(update) }
        continuation.finish()
      }
      continuation.onTermination = { _ in work.cancel() }
    }
  }

  private func merged(
    _ request: ResourceRequest, _ next: ResourceHandlerChain.Next
  ) async -> AsyncStream<LoadUpdate> {
    let stored = (try? await list.value(for: request.reference)) ?? "[]"
    var items = (try? JSONDecoder().decode([Item].self, from: Data(stored.utf8))) ?? []
    var question = request
    question.reference += "?since=\(items.last?.id ?? 0)"
    question.behavior = .networkOnly
    for await update in next(question) {
      if let newer = try? await Self.items(of: update) {
        items += newer
      } else if items.isEmpty {
        // Nothing is stored either: the page is told why.
        return AsyncStream { continuation in
          continuation.yield(update)
          continuation.finish()
        }
      }
    }
    let whole = (try? JSONEncoder().encode(items)) ?? Data("[]".utf8)
    try? await list.setValue(String(decoding: whole, as: UTF8.self), for: request.reference)
    return next(ResourceRequest("data:application/json;base64,\(whole.base64EncodedString())", type: request.type))
  }

  private static func items(of update: LoadUpdate) async throws -> [Item]? {
    switch update {
    case .cached(let loaded), .network(let loaded), .notModified(let loaded):
      try JSONDecoder().decode([Item].self, from: Data(try await loaded.body.bytes()))
    case .failed: nil
    }
  }
}
