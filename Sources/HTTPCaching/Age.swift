import HTTPTypes

/// When a response was asked for and when it came, by this machine's clock.
public struct ExchangeTimes: Hashable, Sendable {
  public let request: HTTPDate
  public let response: HTTPDate

  /// A clock that was set back between the two must not make a response younger: `response` is then `request`.
  public init(request: HTTPDate, response: HTTPDate) {
    self.request = request
    self.response = max(request, response)
  }
}

/// How old a stored response is. RFC 9111 §4.2.3.
public struct Age: Hashable, Sendable {
  /// Seconds when it came: `corrected_initial_age`.
  public let initial: Int64
  private let response: HTTPDate

  /// - Parameter fields: the response's, as it came.
  public init(of fields: HTTPFields, times: ExchangeTimes) {
    response = times.response
    let received = times.response.secondsSinceEpoch.bounded
    let date = HTTPDate(singleIn: fields, .date, now: times.response)?.secondsSinceEpoch.bounded
    let apparentAge = max(0, received - (date ?? received))
    let delay = received - times.request.secondsSinceEpoch.bounded
    let correctedAge = (Self.value(of: fields) ?? 0) + delay
    initial = max(apparentAge, correctedAge)
  }

  /// Seconds at a later time: `current_age`. Never falls while `now` grows, whatever the clock was before.
  public func seconds(at now: HTTPDate) -> Int64 {
    let resident = now.secondsSinceEpoch.bounded - response.secondsSinceEpoch.bounded
    return min(initial + max(0, resident), CacheControl.longestSeconds)
  }

  /// RFC 9111 §5.1: of several values the first counts, and one that is no count of seconds is ignored.
  private static func value(of fields: HTTPFields) -> Int64? {
    guard let name = HTTPField.Name("Age"), let line = fields[values: name].first else { return nil }
    return Directive(name: "age", argument: line.prefix { $0 != "," }.trimmingSpaces).seconds
  }
}

extension Int64 {
  /// Far enough for every date there is, and near enough that sums cannot overflow.
  var bounded: Int64 { Swift.min(Swift.max(self, -(1 << 50)), 1 << 50) }
}

extension HTTPDate {
  /// A field that may stand once, and names a date in any of the three formats. Nil where it is absent, stands twice, or
  /// is no date.
  init?(singleIn fields: HTTPFields, _ name: HTTPField.Name, now: HTTPDate) {
    let lines = fields[values: name]
    guard lines.count == 1, let line = lines.first else { return nil }
    self.init(line, now: now)
  }
}
