import PageKit

/// The answer that a command prints.
enum FinalAnswer {
  /// The last answer of the behaviour, with the failure that followed a stored one.
  ///
  /// - Parameter cached: called with a stored answer that another one follows.
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
    throw failure?.error ?? CommandError("\(request.reference): no answer was received")
  }
}
