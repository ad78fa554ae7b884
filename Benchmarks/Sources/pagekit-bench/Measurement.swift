import Foundation

/// One finished process, as the kernel accounts for it.
struct ProcessCost {
  let wall: Double
  let cpu: Double
  /// The largest single process, in bytes.
  let residentBytes: Int64
}

enum Measurement {
  struct Failed: Error, CustomStringConvertible {
    let description: String
  }

  /// Runs a command to its end, its output thrown away.
  static func run(_ arguments: [String]) throws -> ProcessCost {
    let start = ContinuousClock.now
    let usage = try Child(arguments).finish()
    let wall = Self.seconds(since: start)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return ProcessCost(
      wall: wall, cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime),
      residentBytes: Int64(usage.ru_maxrss) * 1024)
  }

  /// What a command writes.
  static func output(_ arguments: [String]) throws -> String {
    let pipe = Pipe()
    let child = try Child(arguments, output: .descriptor(pipe.fileHandleForWriting.fileDescriptor))
    try pipe.fileHandleForWriting.close()
    let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
    try child.finish()
    return String(decoding: data, as: UTF8.self)
  }

  static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return 0 }
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }

  /// Seconds for one of `count` calls.
  static func time(_ count: Int, _ body: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    for _ in 0..<count { try await body() }
    return seconds(since: start) / Double(count)
  }

  static func seconds(since start: ContinuousClock.Instant) -> Double { (ContinuousClock.now - start) / .seconds(1) }
}
