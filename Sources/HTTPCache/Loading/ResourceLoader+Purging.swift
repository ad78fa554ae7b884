import HTTPCaching
import HTTPTransport

extension ResourceLoader {
  /// Removes what is stored, or marks it as stale; what was asked for before is not stored afterwards, and nobody who
  /// asks afterwards gets it.
  ///
  /// - Returns: how many responses were met.
  /// - Throws: ``StoreError``.
  @discardableResult
  public func purge(_ selection: ResponseSelection, isSoft: Bool = false) async throws -> Int {
    if case .tags(let tags) = selection {
      generations.supersede(tags: tags)
    } else {
      generations.supersede { selection.names($0) ?? true }
    }
    // Behind what is being stored just now: that is older.
    await turns.finish { selection.names($0) ?? true }
    return try await cache.purge(selection, isSoft: isSoft, at: configuration.now())
  }
}
