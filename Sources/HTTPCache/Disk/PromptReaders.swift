import Synchronization

/// The connections of one index that read without waiting. There are as many as are used at the same time, up to a limit.
final class PromptReaders: Sendable {
  private struct State {
    var free: [PromptReader] = []
    /// The connections that are open, in use or not.
    var count = 0
    var isOpening = false
    /// `true` if the last one could not be opened, so that no other is.
    var hasFailed = false
  }

  private let path: String
  private let limit: Int
  private let state = Mutex(State())

  /// - Parameters:
  ///   - path: the file of the index.
  ///   - limit: the largest number of connections.
  init(_ path: String, limit: Int = 16) { (self.path, self.limit) = (path, limit) }

  /// Reads the rows of a key.
  ///
  /// - Parameter later: runs work that may wait.
  /// - Returns: `nil` if the rows cannot be read without waiting.
  func rows(of key: CacheKey, later: (@escaping @Sendable () -> Void) -> Void) -> [PromptReader.Found]? {
    let (reader, isMissing) = state.withLock { state -> (PromptReader?, Bool) in
      if let reader = state.free.popLast() { return (reader, false) }
      guard state.count < limit, !state.isOpening, !state.hasFailed else { return (nil, false) }
      state.isOpening = true
      return (nil, true)
    }
    if isMissing { later { [weak self] in self?.open() } }
    guard let reader else { return nil }
    defer { state.withLock { $0.free.append(reader) } }
    return reader.rows(of: key)
  }

  private func open() {
    let reader = PromptReader.areSupported ? PromptReader(path) : nil
    state.withLock { state in
      state.isOpening = false
      guard let reader else {
        state.hasFailed = true
        return
      }
      state.count += 1
      state.free.append(reader)
    }
  }
}
