import Foundation

extension PageInstance {
  /// Loads something that the page opens from; it ends with the page, and where the page is opened anew.
  ///
  /// - Throws: ``PageError/destroyed``, ``PageError/superseded``, and what `body` throws.
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

  /// Why an opening did not come to its end, where it was not its own fault.
  var overtaken: PageError { phase == .destroyed ? .destroyed : .superseded }
}
