import HTTPTransport

/// An order to all hosts of a fleet: an entry of the journal.
package struct FleetOrder: Hashable, Sendable {
  package enum Task: Hashable, Sendable {
    /// Purge the gateway, by the JSON of the order.
    case purge(JSONValue)
    /// Look for releases: one was published.
    case release(String)
    /// Count the report of an install about a release.
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
  }

  package struct Halt: Hashable, Codable, Sendable {
    /// ``Report/release``.
    package var release: String
    package var isHalted: Bool

    package init(release: String, isHalted: Bool) { (self.release, self.isHalted) = (release, isHalted) }
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
      members["report"] = .object([
        "release": .string(report.release), "isBad": .bool(report.isBad), "install": .string(report.install),
      ])
    case .halt(let halt):
      members["halt"] = .object(["release": .string(halt.release), "isHalted": .bool(halt.isHalted)])
    case .unknown: break
    }
    return JSONValue.object(members).text
  }
}
