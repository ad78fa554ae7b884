import ArgumentParser
import PageKit

/// A duration argument: `200ms`, `1.5s`, `2m`, `30d`, or seconds without a unit.
struct TimeArgument: ExpressibleByArgument, Hashable {
  let duration: Duration

  var defaultValueDescription: String { duration.inSeconds }

  init(days: Int) { duration = .seconds(days * 86_400) }

  init?(argument: String) {
    guard let duration = Duration(text: argument) else { return nil }
    self.duration = duration
  }
}
