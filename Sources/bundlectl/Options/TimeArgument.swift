import ArgumentParser
import PageKit

/// A duration argument: `200ms`, `1.5s`, `2m`, `30d`, or seconds without a unit.
struct TimeArgument: ExpressibleByArgument, Hashable {
  let duration: Duration

  /// The forms that are read, for messages.
  static let form = "seconds, such as 2.5, or a number with a unit, such as 250ms, 3s, 10m, 1h or 30d"

  var defaultValueDescription: String {
    let seconds = duration.seconds
    return seconds >= 86_400 && seconds.truncatingRemainder(dividingBy: 86_400) == 0
      ? "\(Int(seconds / 86_400))d" : "\(duration.inSeconds.replacing(" ", with: ""))"
  }

  init(days: Int) { duration = .seconds(days * 86_400) }
  init(seconds: Double) { duration = .seconds(seconds) }

  /// Returns `true` if the time is within limits in seconds.
  func isWithin(_ range: ClosedRange<Double>) -> Bool { range.contains(duration.seconds) }

  init?(argument: String) {
    guard let duration = Duration(text: argument) else { return nil }
    self.duration = duration
  }
}
