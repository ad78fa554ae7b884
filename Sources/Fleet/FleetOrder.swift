import Foundation
import HTTPTransport
import Synchronization

/// An order to all hosts of a fleet: an entry of the journal.
package struct FleetOrder: Hashable, Sendable {
  package enum Task: Hashable, Sendable {
    /// Purge the gateway, by the JSON of the order.
    case purge(JSONValue)
    /// Look for releases: one was published.
    case release(String)
    /// Count the report of an install about a release. Hosts of the version before write these; now they are
    /// entries of ``FleetLog/reports``.
    case report(Report)
    /// Keep hosts from a release, or lift that.
    case halt(Halt)
    /// A task of a newer version, or none at all.
    case unknown
  }

  /// The report of an install about a release.
  package struct Report: Hashable, Codable, Sendable {
    /// The SHA-256 that tells a release from others, in hexadecimal digits.
    package var release: String
    package var isBad: Bool
    /// Tells an install from others, without its name.
    package var install: String

    package init(release: String, isBad: Bool, install: String) {
      (self.release, self.isBad, self.install) = (release, isBad, install)
    }

    var json: JSONValue {
      .object(["release": .string(release), "isBad": .bool(isBad), "install": .string(install)])
    }
  }

  package struct Halt: Hashable, Codable, Sendable {
    /// ``Report/release``.
    package var release: String
    package var isHalted: Bool
    /// `true` if the journal has kept the state of the release for hosts that join. Hosts of the version before do not.
    package var isKept: Bool?

    package init(release: String, isHalted: Bool, isKept: Bool? = nil) {
      (self.release, self.isHalted, self.isKept) = (release, isHalted, isKept)
    }
  }

  /// Tells an order from all others.
  package let id: String
  /// The name of the host that gave it; `nil` if it was none.
  package let host: String?
  package let task: Task

  /// The most bytes of an order.
  package static let byteLimit = 512 << 10

  package init(_ task: Task, from host: String? = nil, id: String) {
    (self.task, self.host, self.id) = (task, host, id)
  }

  /// Reads an order; whatever else was written into the journal is an ``Task/unknown`` one.
  package init(reading bytes: [UInt8]) {
    var members: [String: JSONValue] = [:]
    if bytes.count <= Self.byteLimit, case .object(let found)? = try? JSONValue(reading: bytes) { members = found }
    if case .string(let text)? = members["id"] { id = text } else { id = "" }
    if case .string(let text)? = members["host"] { host = text } else { host = nil }
    task = Self.task(members)
  }

  private static func task(_ members: [String: JSONValue]) -> Task {
    let names = ["purge", "release", "report", "halt"].filter { members[$0] != nil }
    guard names.count == 1, let name = names.first, let value = members[name] else { return .unknown }
    switch name {
    case "purge": return .purge(value)
    case "release": if case .string(let name) = value { return .release(name) }
    case "report": if let report = try? value.decoded(as: Report.self) { return .report(report) }
    default: if let halt = try? value.decoded(as: Halt.self) { return .halt(halt) }
    }
    return .unknown
  }

  package var bytes: [UInt8] {
    var members: [String: JSONValue] = ["id": .string(id)]
    if let host { members["host"] = .string(host) }
    switch task {
    case .purge(let order): members["purge"] = order
    case .release(let name): members["release"] = .string(name)
    case .report(let report):
      members["report"] = report.json
    case .halt(let halt):
      var value: [String: JSONValue] = ["release": .string(halt.release), "isHalted": .bool(halt.isHalted)]
      if let isKept = halt.isKept { value["isKept"] = .bool(isKept) }
      members["halt"] = .object(value)
    case .unknown: break
    }
    return JSONValue.object(members).text
  }
}

/// Reports of installs, which are an entry of ``FleetLog/reports``.
extension [FleetOrder.Report] {
  /// The most reports of an entry.
  package static var entryLimit: Int { 512 }

  /// Reads an entry; whatever else was written into the log has no reports.
  package init(readingEntry bytes: [UInt8]) {
    guard bytes.count <= FleetOrder.byteLimit,
      case .object(let members)? = try? JSONValue(reading: bytes),
      let found = try? members["reports"]?.decoded(as: [FleetOrder.Report].self), found.count <= Self.entryLimit
    else {
      self = []
      return
    }
    self = found
  }

  package var entry: [UInt8] { JSONValue.object(["reports": .array(map(\.json))]).text }
}

/// Appends reports of installs to a journal: those that come while a batch is being appended are the next one.
///
/// One of the callers appends the batch for all whose reports are in it.
final class ReportBatches: Sendable {
  /// The outcome of the batch that a report was in; `nil` for the caller who appends the next one.
  private typealias Turn = CheckedContinuation<Result<Void, any Error>?, Never>

  /// The reports that wait; more are refused.
  private static let limit = 4_096

  private let journal: any FleetJournal
  private let patience: Duration
  private let state = Mutex<(isAppending: Bool, waiting: [(report: FleetOrder.Report, turn: Turn)])>((false, []))

  init(journal: any FleetJournal, patience: Duration) { (self.journal, self.patience) = (journal, patience) }

  var waiting: Int { state.withLock(\.waiting.count) }

  /// Returns when the journal has the report.
  ///
  /// - Throws: ``JournalError``; the journal may have it even so.
  func append(_ report: FleetOrder.Report) async throws {
    let outcome = await withCheckedContinuation { (turn: Turn) in
      let isNext: Bool? = state.withLock { state in
        guard state.isAppending else {
          state.isAppending = true
          return true
        }
        guard state.waiting.count < Self.limit else { return false }
        state.waiting.append((report, turn))
        return nil
      }
      if let isNext { turn.resume(returning: isNext ? nil : .failure(JournalError.busy)) }
    }
    if let outcome { try outcome.get() } else { try await appendBatch(with: report) }
  }

  private func appendBatch(with report: FleetOrder.Report) async throws {
    let others = state.withLock { state in
      let others = Array(state.waiting.prefix([FleetOrder.Report].entryLimit - 1))
      state.waiting.removeFirst(others.count)
      return others
    }
    let (bytes, id) = (([report] + others.map(\.report)).entry, UUID().uuidString)
    // The others' reports do not end with the client of this one.
    let appending = Task { [journal, patience] in
      _ = try await JournalError.retryingWhileAway(for: patience) {
        try await journal.append(bytes, id: id, to: .reports)
      }
    }
    let result = await appending.result
    let next = state.withLock { state in
      state.isAppending = !state.waiting.isEmpty
      return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
    }
    for other in others { other.turn.resume(returning: result) }
    next?.turn.resume(returning: nil)
    try result.get()
  }
}
