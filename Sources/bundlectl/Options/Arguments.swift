import ArgumentParser
import PageKit

/// A size argument: bytes, or a number with a unit of powers of 1024, such as `256MB` or `1.5GB`.
struct SizeArgument: ExpressibleByArgument, Hashable {
  let bytes: Int64

  /// The forms that are read, for messages.
  static let form = "bytes, such as 65536, or a number with a unit of powers of 1024, such as 512KB, 256MB or 1.5GB"

  var defaultValueDescription: String {
    for (unit, size) in [("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)] as [(String, Int64)]
    where bytes >= size && bytes % size == 0 {
      return "\(bytes / size)\(unit)"
    }
    return "\(bytes)"
  }

  init(bytes: Int64) { self.bytes = bytes }

  init?(argument: String) {
    guard let bytes = Int64(size: argument) else { return nil }
    self.bytes = bytes
  }
}

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

/// An argument of the form `key=value`.
struct MemberArgument: ExpressibleByArgument, Hashable {
  let key: String
  let value: String

  init?(argument: String) {
    guard let separator = argument.firstIndex(of: "="), separator != argument.startIndex else { return nil }
    key = String(argument[..<separator])
    value = String(argument[argument.index(after: separator)...])
  }
}

/// The longest time of a page's script.
struct ScriptTimeOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "The time limit of one entry into a script: 500ms, 10s. (default: 5s)",
      discussion: "A page whose script takes longer is stopped, and the exit status is 1.", valueName: "time"))
  var pageTime: TimeArgument?

  var limit: Duration { pageTime?.duration ?? .seconds(5) }

  func validate() throws {
    guard limit >= .milliseconds(10), limit <= .seconds(3600) else {
      throw ValidationError("--page-time must be from 10ms to 3600s.")
    }
  }
}
