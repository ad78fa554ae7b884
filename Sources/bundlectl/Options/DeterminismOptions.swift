import ArgumentParser
import Foundation
import PageKit

/// The options that give a page its time, random numbers, zone and locale.
struct DeterminismOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "The time for the page, in place of the machine's: 2026-01-01T00:00:00Z.",
      discussion: """
        It stands still. Timers that are waited for run at once, and the page's clock goes on to the times at which \
        they are due. Like each of --seed, --zone and --locale, it makes the page's run the same every time: what \
        is not given is 2026-01-01T00:00:00Z, 1, UTC and en-US then.
        """, valueName: "moment"))
  var time: MomentArgument?

  @Option(
    name: .long, help: ArgumentHelp("The seed of Math.random, a whole number, in place of a new one for each run."))
  var seed: UInt64?

  @Option(
    name: .long,
    help: ArgumentHelp("The page's time zone, in place of the machine's: UTC, Asia/Shanghai.", valueName: "name"))
  var zone: String?

  @Option(
    name: .long,
    help: ArgumentHelp("The page's locale, in place of the machine's: en-US, zh-CN.", valueName: "tag"))
  var locale: String?

  @Option(
    name: .customLong("node-env"),
    help: ArgumentHelp(
      "The value of process.env.NODE_ENV in the page and its framework, such as development. (default: production)",
      valueName: "name"))
  var nodeEnvironment: String?

  /// The values for a page; `nil` if it takes those of the machine.
  var fixed: PageDeterminism? {
    guard time != nil || seed != nil || zone != nil || locale != nil else { return nil }
    var fixed = PageDeterminism()
    if let time { fixed.time = time.date }
    if let seed { fixed.seed = seed }
    if let zone { fixed.zone = zone }
    if let locale { fixed.locale = locale }
    return fixed
  }

  func validate() throws {
    for (name, text) in [("zone", zone), ("locale", locale), ("node-env", nodeEnvironment)] {
      if let text { try Self.check(text, of: name) }
    }
  }

  /// - Parameter name: the option's, without its hyphens.
  /// - Throws: `ValidationError` if the text is empty or too long.
  static func check(_ text: String, of name: String) throws {
    guard (1...100).contains(text.utf8.count) else {
      throw ValidationError("--\(name) has \(text.utf8.count) bytes; it must have 1 to 100.")
    }
  }
}

/// A time argument: a date and a time of day with their zone, as in ISO 8601.
struct MomentArgument: ExpressibleByArgument, Hashable {
  let date: Date

  /// The forms that are read, for messages.
  static let form = "a date and a time with their zone, such as 2026-01-01T09:30:00Z or 2026-01-01T17:30:00+08:00"

  init?(argument: String) {
    let forms = [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(timeZoneSeparator: .colon)]
    let dates = forms.flatMap { [$0, $0.time(includingFractionalSeconds: true)] }.lazy.compactMap {
      try? Date(argument, strategy: $0)
    }
    guard let date = dates.first else { return nil }
    self.date = date
  }
}
