/// A time in whole seconds, as HTTP fields contain it. RFC 9110 §5.6.7.
public struct HTTPDate: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Seconds since 1970-01-01T00:00:00Z.
  public let secondsSinceEpoch: Int64

  /// Creates a time from seconds since 1970-01-01T00:00:00Z.
  ///
  /// - Parameter secondsSinceEpoch: any number; that of a time before 1970 is negative.
  public init(secondsSinceEpoch: Int64) {
    self.secondsSinceEpoch = secondsSinceEpoch
  }

  public static func < (left: HTTPDate, right: HTTPDate) -> Bool {
    left.secondsSinceEpoch < right.secondsSinceEpoch
  }
}

// MARK: - Reading

extension HTTPDate {
  /// Reads any of the three formats of RFC 9110 §5.6.7: IMF-fixdate (`Sun, 06 Nov 1994 08:49:37 GMT`),
  /// RFC 850 (`Sunday, 06-Nov-94 08:49:37 GMT`) and asctime (`Sun Nov  6 08:49:37 1994`).
  ///
  /// Returns `nil` for everything else. The name of the day is not compared with the date.
  ///
  ///     let date = HTTPDate("Sun, 06 Nov 1994 08:49:37 GMT", now: now)
  ///     print(date?.secondsSinceEpoch ?? 0)  // 784111777
  ///
  /// - Parameters:
  ///   - text: the field value.
  ///   - now: determines the century of a two-digit year: a time more than 50 years in the future belongs to the past
  ///     century.
  public init?(_ text: String, now: HTTPDate) {
    if let date = HTTPDate(fixed: text) {
      self = date
      return
    }
    // No leniency: RFC 9111 §5.3 requires that an invalid Expires is in the past.
    let words = text.trimmingSpaces.split(separator: " ", omittingEmptySubsequences: false)
    let hasComma = words[0].utf8.last == UInt8(ascii: ",")
    switch (words.count, hasComma) {
    case (6, true):  // Sun, 06 Nov 1994 08:49:37 GMT
      guard Self.isZone(words[5]), let day = Self.number(words[1], digits: 2...2) else { return nil }
      self.init(day: day, month: words[2], year: Self.number(words[3], digits: 4...4), time: words[4])
    case (4, true):  // Sunday, 06-Nov-94 08:49:37 GMT
      guard Self.isZone(words[3]) else { return nil }
      let date = words[1].split(separator: "-", omittingEmptySubsequences: false)
      guard date.count == 3, let day = Self.number(date[0], digits: 2...2),
        let short = Self.number(date[2], digits: 2...2)
      else { return nil }
      // Any clock value is possible; the limit prevents an overflow.
      let clock = min(max(now.secondsSinceEpoch, -(1 << 40)), 1 << 40)
      var limit = CivilDate(daysSinceEpoch: clock.dividedDown(by: 86_400))
      let century = limit.year - limit.year.remainder(dividedDownBy: 100)
      limit.year += 50
      let latest = limit.daysSinceEpoch * 86_400 + clock.remainder(dividedDownBy: 86_400)
      self.init(day: day, month: date[1], year: century + short, time: words[2])
      if secondsSinceEpoch > latest {
        self.init(day: day, month: date[1], year: century + short - 100, time: words[2])
      }
    case (5, false), (6, false):  // Sun Nov 16 08:49:37 1994, or a one-digit day after two spaces
      guard words.count == 5 || words[2].isEmpty,
        let day = Self.number(words[words.count - 3], digits: words.count == 5 ? 2...2 : 1...1)
      else { return nil }
      let year = Self.number(words[words.count - 1], digits: 4...4)
      self.init(day: day, month: words[1], year: year, time: words[words.count - 2])
    default:
      return nil
    }
  }

  /// Reads an IMF-fixdate as nearly all servers write it, without the parts of the text becoming strings.
  private init?(fixed text: String) {
    let date: HTTPDate?? = text.utf8.withContiguousStorageIfAvailable { bytes in
      guard bytes.count == 29, bytes[3] == UInt8(ascii: ","), bytes[25...].elementsEqual(" GMT".utf8),
        bytes[..<3].allSatisfy({ (65...90).contains($0 & 0xDF) }),
        [4, 7, 11, 16].allSatisfy({ bytes[$0] == UInt8(ascii: " ") }),
        bytes[19] == UInt8(ascii: ":"), bytes[22] == UInt8(ascii: ":"),
        let day = number(bytes[5..<7]), let year = number(bytes[12..<16]), let hour = number(bytes[17..<19]),
        let minute = number(bytes[20..<22]), let second = number(bytes[23..<25]),
        let month = Self.writtenMonths.firstIndex(where: { $0.elementsEqual(bytes[8..<11]) })
      else { return nil }
      return HTTPDate(day: day, month: Int64(month) + 1, year: year, hour: hour, minute: minute, second: second)
    }
    guard let date, let date else { return nil }
    self = date

    func number(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
      var number: Int64 = 0
      for digit in digits {
        guard (48...57).contains(digit) else { return nil }
        number = number * 10 + Int64(digit - 48)
      }
      return number
    }
  }

  private static let writtenMonths = months.map { Array($0.capitalizedFirst.utf8) }

  private init?(day: Int64, month: Substring, year: Int64?, time: Substring) {
    let clock = time.split(separator: ":", omittingEmptySubsequences: false)
    guard
      let year, let month = Self.months.firstIndex(of: month.lowercased()),
      clock.count == 3,
      let hour = Self.number(clock[0], digits: 2...2), let minute = Self.number(clock[1], digits: 2...2),
      let second = Self.number(clock[2], digits: 2...2)
    else { return nil }
    self.init(day: day, month: Int64(month) + 1, year: year, hour: hour, minute: minute, second: second)
  }

  private init?(day: Int64, month: Int64, year: Int64, hour: Int64, minute: Int64, second: Int64) {
    guard hour < 24, minute < 60, second <= 60 else { return nil }
    let civil = CivilDate(year: year, month: month, day: day)
    // Rejects days such as 31 February.
    guard CivilDate(daysSinceEpoch: civil.daysSinceEpoch) == civil else { return nil }
    secondsSinceEpoch = civil.daysSinceEpoch * 86_400 + hour * 3600 + minute * 60 + second
  }

  /// RFC 9111 §4.2: any case; another zone is invalid.
  private static func isZone(_ word: Substring) -> Bool { word.lowercased() == "gmt" }

  private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int64? {
    guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Int64(text)
  }
}

// MARK: - Writing

extension HTTPDate {
  /// The time as IMF-fixdate, the only format that may be sent.
  public var description: String {
    let days = secondsSinceEpoch.dividedDown(by: 86_400)
    let second = secondsSinceEpoch.remainder(dividedDownBy: 86_400)
    let civil = CivilDate(daysSinceEpoch: days)
    let weekday = Self.weekdays[Int((days % 7 + 11) % 7)]
    let month = Self.months[Int(civil.month) - 1].capitalizedFirst
    let time = [second / 3600, second / 60 % 60, second % 60].map { Self.padded($0, to: 2) }.joined(separator: ":")
    return "\(weekday), \(Self.padded(civil.day, to: 2)) \(month) \(Self.padded(civil.year, to: 4)) \(time) GMT"
  }

  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  private static func padded(_ number: Int64, to width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

extension String {
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}

/// A day of the proleptic Gregorian calendar.
private struct CivilDate: Equatable {
  var year: Int64
  var month: Int64
  var day: Int64

  init(year: Int64, month: Int64, day: Int64) {
    (self.year, self.month, self.day) = (year, month, day)
  }

  /// Counts in 400-year eras that begin on 1 March, so that the leap day is the last of its year.
  init(daysSinceEpoch: Int64) {
    let shifted = daysSinceEpoch + 719_468
    let era = shifted.dividedDown(by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  var daysSinceEpoch: Int64 {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = shiftedYear.dividedDown(by: 400)
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}

extension Int64 {
  /// Division that rounds towards negative infinity.
  fileprivate func dividedDown(by divisor: Int64) -> Int64 {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }

  /// The remainder of that division, never negative.
  fileprivate func remainder(dividedDownBy divisor: Int64) -> Int64 {
    let rest = self % divisor
    return rest < 0 ? rest + divisor : rest
  }
}
