import Foundation
import PageKit

/// A page's timings as text.
enum TimingsText {
  static func lines(of rendering: Rendering, isFile: Bool) -> [String] {
    let timings = rendering.timings
    let found = isFile ? "bundle read" : rendering.source == .network ? "bundle downloaded" : "bundle found"
    let stages: [(String, Duration?)] = [
      (found, timings.bundleReady), ("createInstance", timings.createInstance), ("first element", timings.firstElement),
      ("script evaluated", timings.evaluated),
      ("createFinish", timings.createFinish), ("first interaction", timings.interaction),
    ]
    // The stages in order, each with the time since the previous one.
    var former = 0.0
    var lines: [String] = []
    for (name, end) in stages.compactMap({ name, end in end.map { (name, $0.seconds) } }).sorted(by: { $0.1 < $1.1 }) {
      let padded = name.padding(toLength: 18, withPad: " ", startingAt: 0)
      lines.append("\(padded) \(text(end))   +\(text(end - former).drop { $0 == " " })")
      former = end
    }
    let bytes = Formatting.bytes(timings.bytes)
    lines.append(
      "\(Formatting.count(timings.requests, "request")), \(timings.hits) answered without the network, \(bytes)")
    return lines
  }

  private static func text(_ seconds: Double) -> String { String(format: "%8.1f ms", seconds * 1_000) }
}
