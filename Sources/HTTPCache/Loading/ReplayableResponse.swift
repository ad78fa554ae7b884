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
  private let times: ExchangeTimes
  private let storedUse: @Sendable (HTTPDate) -> StoredUse

  /// - Parameters:
  ///   - found: all variants that it was chosen among.
  ///   - made: when its age was told.
  ///   - remaining: seconds that it was still fresh for.
  ///   - storedUse: which stored responses may be used at a time.
  init(
    _ cached: CachedResponse, among found: [CachedResponse], in cache: ResponseCache, made: HTTPDate, remaining: Int64,
    now: @escaping @Sendable () -> HTTPDate, storedUse: @escaping @Sendable (HTTPDate) -> StoredUse
  ) {
    (validity, self.cache, self.now, self.made, self.remaining) = (cached.validity, cache, now, made, remaining)
    (times, self.storedUse) = (cached.stored.times, storedUse)
    chosenBy = found.reduce(into: []) { $0.formUnion($1.stored.vary.values.keys) }
  }

  /// Seconds by which its `Age` has grown; `nil` if it may not be the answer any more.
  package func age() -> Int64? {
    let now = now()
    let age = now.secondsSinceEpoch &- made.secondsSinceEpoch
    guard age >= 0, age < remaining, validity.holds, cache.isWatched, storedUse(now).mayAnswer(times) else {
      return nil
    }
    return age
  }

  /// It was given again: what was used goes last.
  package func use() { cache.noteUse(of: validity, at: now()) }
}
