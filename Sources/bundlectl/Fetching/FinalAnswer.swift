import PageKit

/// The one answer that a command prints.
enum FinalAnswer {
  /// The last answer that the behaviour brings; what failed behind a stored one comes with it.
  ///
  /// - Parameter cached: told of a stored answer that another follows.
  static func load(
    _ request: ResourceRequest, from loader: ResourceLoader, cached: (Resource) -> Void = { _ in }
  ) async throws -> (answer: Resource, failure: LoadFailure?) {
    guard request.behavior?.refresh == .always else { return (try await loader.response(for: request), nil) }
    var last: Resource?
    var failure: LoadFailure?
    for await update in loader.updates(for: request) {
      switch update {
      case .cached(let loaded):
        last = loaded
        cached(loaded)
      case .network(let loaded), .notModified(let loaded): last = loaded
      case .failed(let failed): failure = failed
      }
    }
    if let last { return (last, failure) }
    if let answer = failure?.answer { return (answer, nil) }
    throw failure?.error ?? CommandError("\(request.reference): there is no answer")
  }
}
