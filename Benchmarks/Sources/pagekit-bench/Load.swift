import Foundation

/// The measurements of a server by wrk(1).
struct Load {
  /// Answers per second.
  let rate: Double
  /// Seconds, of 99 in 100 answers at most.
  let p99: Double

  enum Version: String {
    case http1 = "HTTP/1.1"
    case http2 = "HTTP/2"
  }

  /// Answers per second by HTTP/2, of four streams on each connection, as h2load(1) counts them.
  ///
  /// - Throws: ``Measurement/Failed`` also where an answer was not 2xx or 3xx.
  static func rateOfStreams(
    _ url: String, connections: Int, seconds: Int, cores: String, fields: [String] = []
  ) throws -> Double {
    let command =
      ["taskset", "-c", cores, "h2load", "-c", "\(connections)", "-m", "4", "-D", "\(seconds)"]
      + fields.flatMap { ["-H", $0] } + [url]
    let text = try Measurement.output(command)
    let lines = text.split(separator: "\n")
    let rate = lines.first { $0.hasPrefix("finished in ") }?.split(separator: " ").dropFirst(3).first
    guard let rate = rate.flatMap({ Double($0) }), rate > 0, text.contains(" 0 4xx, 0 5xx"), text.contains(" 0 errored")
    else { throw Measurement.Failed(description: "\(command.joined(separator: " ")):\n\(text)") }
    return rate
  }

  /// - Parameter cores: those that wrk runs on, as taskset(1) has them.
  /// - Throws: ``Measurement/Failed`` also where an answer was not 2xx or 3xx.
  init(
    _ url: String, connections: Int, seconds: Int, cores: String? = nil, threads: Int = 1, fields: [String] = [],
    script: WrkScript? = nil
  ) throws {
    var command = cores.map { ["taskset", "-c", $0] } ?? []
    command += ["wrk", "-t\(threads)", "-c\(connections)", "-d\(seconds)s", "--latency", "--timeout", "60s"]
    command += fields.flatMap { ["-H", $0] }
    if let script { command += ["-s", script.path] }
    command.append(url)
    let text = try Measurement.output(command)
    func value(_ label: String) -> Substring? {
      text.split(separator: "\n").map { $0.drop { $0 == " " } }.first { $0.hasPrefix(label) }?
        .dropFirst(label.count).split(separator: " ").first
    }
    guard let rate = value("Requests/sec:").flatMap({ Double($0) }), let p99 = value("99%").flatMap(Self.seconds),
      value("Non-2xx or 3xx responses:") == nil, value("Socket errors:") == nil, rate > 0
    else { throw Measurement.Failed(description: "\(command.joined(separator: " ")):\n\(text)") }
    (self.rate, self.p99) = (rate, p99)
  }

  private static func seconds(_ text: Substring) -> Double? {
    for (unit, factor) in [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60)] where text.hasSuffix(unit) {
      return Double(text.dropLast(unit.count)).map { $0 * factor }
    }
    return nil
  }
}
