import PageKit

/// Answers a request for a list: what is stored, and what has come since the last one of it. The server is asked for
/// nothing else; while it is silent, the stored list is the answer.
struct NewerItems: ResourceAnswering {
  private struct Item: Codable {
    let id: Int
    let name: String
  }

  func response(to request: ResourceRequest, _ exchange: ResourceExchange) async throws -> HandledResponse {
    var items = try await exchange.stored()?.decoded(as: [Item].self) ?? []
    var question = request
    question.reference += "?since=\(items.last?.id ?? 0)"
    items += try await exchange.response(to: question).decoded(as: [Item].self)
    return try .json(items, storage: .askingEachTime)
  }
}
