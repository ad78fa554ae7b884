import Foundation
import HTTPTypes
import PageTesting
import Synchronization
import TestSupport
import Testing

/// Preloads from servers of bundles that lie: `bundlectl preload`, as a process of its own.
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
      let asked = Mutex<[Int: [String: Int]]>([:])
      origin.respond("/*") { request in
        let path = String(request.path.dropFirst())
        // The rows have one server, which tells them apart by a field.
        guard let index = request.headers[Self.field].flatMap({ Int($0) }), rows.indices.contains(index) else {
          return good[path] ?? OriginResponse(status: .notFound)
        }
        let number = asked.withLock { asked in
          asked[index, default: [:]][path, default: 0] += 1
          return asked[index]?[path] ?? 1
        }
        if let answers = rows[index].answers[path] { return answers[min(number, answers.count) - 1] }
        return next[path] ?? OriginResponse(status: .notFound)
      }
      let folder = try TemporaryDirectory()
      try Data(try PreloadLie.root().encoded()).write(to: URL(fileURLWithPath: folder.file("root.json")))
      let results = try await Self.results(of: rows, at: origin.url(for: "/"), in: folder)
      for (index, row) in rows.enumerated() {
        Self.check(row, results[index], asked.withLock { Set(($0[index] ?? [:]).keys) })
      }
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

  private static func check(_ row: PreloadLie, _ result: RunningProgram.Result, _ asked: Set<String>) {
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
      #expect(!report.activated && failures.contains { words.isEmpty || $0.contains(words) }, "\(place)")
      #expect(Array(parts[1].utf8) == PreloadLie.script(1), "\(place)")
    case .taken:
      #expect(report.activated && failures.isEmpty, "\(place)")
      #expect(Array(parts[1].utf8) == PreloadLie.script(2), "\(place)")
    }
    #expect(report.requests <= 14, "\(place)")
    #expect(!result.output.contains("root:"), "\(place)")
    if let path = row.asks { #expect(asked.contains(path), "\(place)") }
  }

  private static let field = HTTPField.Name("X-Row") ?? .accept

  /// Preloads what the server has in the place of each row's second release into a copy of a store that has the first
  /// one, and shows the stored script.
  private static func results(
    of rows: [PreloadLie], at url: String, in folder: TemporaryDirectory
  ) async throws -> [RunningProgram.Result] {
    let (bundlectl, manifest) = (RunningProgram.built("bundlectl"), url + "manifest.json")
    let root = ["--root", folder.file("root.json")]
    for (store, more) in [("plain", []), ("signed", root)] {
      try await RunningProgram(
        bundlectl, ["preload", "--manifest", manifest, "--store", folder.file(store)] + more
      ).succeed()
    }
    let script = """
      program=$1 from=$2 store=$3 manifest=$4; shift 4
      cp -r "$from" "$store"
      "$program" preload --manifest "$manifest" --store "$store" --tries 1 --json "$@"
      echo; echo ----
      "$program" cat home --store "$store"
      rm -rf "$store"
      """
    return try await withThrowingTaskGroup(of: (Int, RunningProgram.Result).self) { group in
      var results: [Int: RunningProgram.Result] = [:]
      for (index, row) in rows.enumerated() {
        if index >= 8, let (index, result) = try await group.next() { results[index] = result }
        group.addTask {
          let program = try RunningProgram(
            "/bin/sh",
            [
              "-c", script, "sh", bundlectl, folder.file(row.isSigned ? "signed" : "plain"),
              folder.file("store-\(index)"), manifest, "--header", "\(field): \(index)",
            ] + (row.isSigned ? root : []))
          return (index, await program.result())
        }
      }
      for try await (index, result) in group { results[index] = result }
      return rows.indices.compactMap { results[$0] }
    }
  }
}
