import HTTPCaching
import HTTPTransport

/// A stored answer that stays the one to the same request for as long as it is fresh and nothing changes what is stored.
package struct ReplayableResponse: Sendable {
  /// The request fields that answers of the URL are chosen by, in small letters.
  package let chosenBy: Set<String>
  private let validity: CacheValidity
  private let cache: ResponseCache
  private let now: @Sendable () -> HTTPDate
  private let made: HTTPDate
  private let remaining: Int64

  /// - Parameters:
  ///   - found: all variants that it was chosen among.
  ///   - made: when its age was told.
  ///   - remaining: seconds that it was still fresh for.
  init(
    _ cached: CachedResponse, among found: [CachedResponse], in cache: ResponseCache, made: HTTPDate, remaining: Int64,
    now: @escaping @Sendable () -> HTTPDate
  ) {
    (validity, self.cache, self.now, self.made, self.remaining) = (cached.validity, cache, now, made, remaining)
    chosenBy = found.reduce(into: []) { $0.formUnion($1.stored.vary.values.keys) }
  }

  /// Seconds by which its `Age` has grown; `nil` if it may not be the answer any more.
  package func age() -> Int64? {
    let age = now().secondsSinceEpoch &- made.secondsSinceEpoch
    return age >= 0 && age < remaining && validity.holds && cache.isWatched ? age : nil
  }

  /// It was given again: what was used goes last.
  package func use() { cache.noteUse(of: validity, at: now()) }
}
