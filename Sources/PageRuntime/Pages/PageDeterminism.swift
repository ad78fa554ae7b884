import Foundation

/// The values that a page's script otherwise takes from the machine: the time, random numbers, the time zone and the
/// locale. Two runs with the same values, the same bundle and the same answers are the same.
///
///     let fixed = PageDeterminism(seed: 7, time: Date(timeIntervalSince1970: 1_767_225_600))
///     let page = try await host.open("https://pages.example.com/bundles/home.js", options: .init(determinism: fixed))
///     await page.advance(by: .seconds(2))
///     print(await page.tree.outline)
///
/// It holds for `Date`, `Math.random` and `Intl` in the bundle, in the built-in framework and in published ones, and for
/// timers. While the script runs, its clock stands still; after each 1,000 readings it goes on by 1 ms, so that loops that
/// wait for a time end. Such a page has an engine of its own, which takes as long to boot as the first one of a host.
public struct PageDeterminism: Hashable, Sendable, Codable {
  /// The way in which a page's time goes on between two runs of its script.
  public enum Clock: String, Hashable, Sendable, Codable {
    /// It stands still. ``PageInstance/advance(by:within:)`` moves it on, and ``PageInstance/settle(within:timers:)`` moves it
    /// to the timers that it waits for, which run at once.
    case virtual
    /// It goes on with the machine's clock, from ``PageDeterminism/time``.
    case running
  }

  /// The seed of `Math.random`.
  public var seed: UInt64
  /// The time at which the page is opened.
  public var time: Date
  /// The time zone, a name of the IANA database such as `Asia/Shanghai`.
  public var zone: String
  /// The locale of `toLocaleString` and `Intl`, a BCP 47 tag such as `zh-CN`.
  public var locale: String
  /// The way in which time goes on.
  public var clock: Clock

  /// Fixed values; each default is the same on all machines.
  ///
  /// - Parameters:
  ///   - seed: the seed of `Math.random`.
  ///   - time: the time at which the page is opened; the default is the beginning of 2026 in UTC.
  ///   - zone: the time zone, a name of the IANA database. One that the engine does not know is an error of the opening.
  ///   - locale: the locale, a BCP 47 tag.
  ///   - clock: how the time goes on.
  public init(
    seed: UInt64 = 1, time: Date = Date(timeIntervalSince1970: 1_767_225_600), zone: String = "UTC",
    locale: String = "en-US", clock: Clock = .virtual
  ) {
    (self.seed, self.time, self.zone, self.locale, self.clock) = (seed, time, zone, locale, clock)
  }

  /// The time and the zone of this machine, with a new seed and a running clock: what a page that is recorded takes.
  static var ofThisMachine: PageDeterminism {
    PageDeterminism(
      seed: UInt64.random(in: 1...UInt64.max), time: Date(), zone: TimeZone.current.identifier, clock: .running)
  }

  /// ``time`` in whole milliseconds since 1970, within the range of a script's `Date`.
  var milliseconds: Double {
    // ECMA-262 §21.4.1.1.
    let time = (self.time.timeIntervalSince1970 * 1_000).rounded(.down)
    return time.isNaN ? 0 : min(max(time, -8.64e15), 8.64e15)
  }
}

extension PageDeterminism {
  private enum CodingKeys: CodingKey {
    case seed, time, zone, locale, clock
  }

  /// Reads the values. A seed that JSON's numbers are too short for is a text.
  ///
  /// - Throws: `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    seed =
      try (try? values.decode(String.self, forKey: .seed)).flatMap { UInt64($0) }
      ?? values.decode(UInt64.self, forKey: .seed)
    time = try values.decode(Date.self, forKey: .time)
    zone = try values.decode(String.self, forKey: .zone)
    locale = try values.decode(String.self, forKey: .locale)
    clock = try values.decode(Clock.self, forKey: .clock)
  }

  /// Writes the values.
  ///
  /// - Throws: `EncodingError`.
  public func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    if seed > Int64.max {
      try values.encode(String(seed), forKey: .seed)
    } else {
      try values.encode(seed, forKey: .seed)
    }
    try values.encode(time, forKey: .time)
    try values.encode(zone, forKey: .zone)
    try values.encode(locale, forKey: .locale)
    try values.encode(clock, forKey: .clock)
  }
}
