import Foundation
import HTTPTypes
import PageTesting
import Synchronization
import TestSupport
import Testing

/// What a host makes of servers of bundles that lie: `bundlectl preload`, as a process of its own.
@Suite(.timeLimit(.minutes(5)))
struct PreloadLieTests {
  private static let rows =
    PreloadLie.members + PreloadLie.entries + PreloadLie.forms + PreloadLie.others + PreloadLie.answersOfServers
    + PreloadLie.deltas + PreloadLie.signed

  @Test("a lie of a server is refused with its reason in few requests, and what was good stays")
  func lies() async throws {
    let rows = Self.rows
    try await FaultOrigin.running { (origin: FaultOrigin) async throws in
      let (good, next) = (try PreloadLie.site(1), try PreloadLie.site(2))
      let counts = Mutex<[String: Int]>([:])
      origin.respond("/*") { request in
        let parts = request.path.split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2, let index = Int(parts[0]), rows.indices.contains(index) else {
          return OriginResponse(status: .notFound)
        }
        let path = parts[1]
        let (launches, number) = counts.withLock { counts in
          if path == "manifest.json" { counts["\(index)", default: 0] += 1 }
          let launches = counts["\(index)"] ?? 0
          if launches > 1 { counts[request.path, default: 0] += 1 }
          return (launches, counts[request.path] ?? 0)
        }
        if launches <= 1 { return good[path] ?? OriginResponse(status: .notFound) }
        if let answers = rows[index].answers[path] { return answers[min(number, answers.count) - 1] }
        return next[path] ?? OriginResponse(status: .notFound)
      }
      let folder = try TemporaryDirectory()
      try Data(try PreloadLie.root().encoded()).write(to: URL(fileURLWithPath: folder.file("root.json")))
      let results = try await Self.results(of: rows, at: origin.url(for: "/"), in: folder)
      for (index, row) in rows.enumerated() { Self.check(row, results[index], origin, index) }
      withExtendedLifetime(folder) {}
    }
    print("\(rows.count) lies of bundle servers were tried")
    #expect(rows.count >= 150)
    #expect(Set(rows.map(\.name)).count == rows.count)
  }

  private struct Report: Decodable {
    struct Failure: Decodable { let name, error: String }

    let activated: Bool
    let requests: Int
    let failures: [Failure]
  }

  private static func check(_ row: PreloadLie, _ result: RunningProgram.Result, _ origin: FaultOrigin, _ index: Int) {
    let parts = result.output.components(separatedBy: "\n----\n")
    guard parts.count == 2, let report = try? JSONDecoder().decode(Report.self, from: Data(parts[0].utf8)) else {
      Issue.record("\(row.name): \(result.output) \(result.error)")
      return
    }
    let failures = report.failures.map(\.error)
    let place =
      "\(row.name): activated \(report.activated), \(report.requests) requests, \(failures), \(parts[1].prefix(20))"
    switch row.expected {
    case .refused(let words):
      #expect(!report.activated && failures.contains { $0.contains(words) }, "\(place)")
      #expect(Array(parts[1].utf8) == PreloadLie.script(1), "\(place)")
    case .taken:
      #expect(report.activated && failures.isEmpty, "\(place)")
      #expect(Array(parts[1].utf8) == PreloadLie.script(2), "\(place)")
    }
    #expect(report.requests <= 14, "\(place)")
    #expect(!result.output.contains("root:"), "\(place)")
    if let path = row.asks { #expect(origin.requestCount(path: "/\(index)/\(path)") > 0, "\(place)") }
  }

  /// Preloads each row's first release, then what the server has in its place, and shows the stored script.
  private static func results(
    of rows: [PreloadLie], at url: String, in folder: TemporaryDirectory
  ) async throws -> [RunningProgram.Result] {
    let script = """
      "$0" preload --manifest "$1" --store "$2" --tries 1 --json $3 > /dev/null
      "$0" preload --manifest "$1" --store "$2" --tries 1 --json $3
      echo; echo ----
      "$0" cat home --store "$2"
      rm -rf "$2"
      """
    let bundlectl = RunningProgram.built("bundlectl")
    let root = "--root \(folder.file("root.json"))"
    return try await withThrowingTaskGroup(of: (Int, RunningProgram.Result).self) { group in
      var results: [Int: RunningProgram.Result] = [:]
      for (index, row) in rows.enumerated() {
        if index >= 8, let (index, result) = try await group.next() { results[index] = result }
        group.addTask {
          let program = try RunningProgram(
            "/bin/sh",
            [
              "-c", script, bundlectl, "\(url)\(index)/manifest.json", folder.file("store-\(index)"),
              row.isSigned ? root : "",
            ])
          return (index, await program.result())
        }
      }
      for try await (index, result) in group { results[index] = result }
      return rows.indices.compactMap { results[$0] }
    }
  }
}
