import Foundation

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
    guard loads.removeValue(forKey: key) != nil else { throw overtaken }
    return try result.get()
  }

  func cancelLoads() {
    for cancel in loads.values { cancel() }
    loads = [:]
  }

  /// The error of an opening that was overtaken by the page's end or by another opening.
  var overtaken: PageError { phase == .destroyed ? .destroyed : .superseded }
}
