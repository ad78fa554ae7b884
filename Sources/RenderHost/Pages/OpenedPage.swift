import PageKit
import PageWorkers

/// A page that callers have opened, as the daemon keeps it.
struct OpenedPage: Sendable {
  let id: String
  /// Its number in workers; it changes when the page is reopened.
  var number: UInt64
  let url: PageURL
  let name: String?
  let opening: PageOpening
  /// The public URL.
  let location: String
  /// The bytes that it was opened or reloaded with.
  private(set) var bundle: LoadedBundle
  private(set) var digest: SHA256Digest
  let log: EventLog
  var reply: PageReply
  /// The seconds until its bundle was loaded.
  private(set) var bundleTime: Double
  /// The caller who opened it.
  let caller: PageCaller
  let opened: ContinuousClock.Instant
  var lastAsked: ContinuousClock.Instant
  /// The page is being reopened in another worker.
  var reopening: Task<Void, any Error>?
  var reopened = 0

  /// Records that the page was reopened with other bytes.
  mutating func take(_ target: PageDirectory.Target, number: UInt64, _ reply: PageReply) {
    self.number = number
    self.reply = reply
    (bundle, digest, bundleTime) = (target.bundle, target.digest, target.bundleTime)
  }

  /// The phase that its worker reports; `reopened` while the page is being opened in another worker.
  var phase: String { reopening == nil ? reply.phase : "reopened" }

  /// The page's JSON without its tree.
  var json: [String: JSONValue] {
    var timings = reply.timings.mapValues { JSONValue.number($0) }
    timings["bundle"] = .number(bundleTime)
    var members: [String: JSONValue] = [
      "id": .string(id), "url": .string(location), "phase": .string(reply.phase),
      "elements": .integer(Int64(reply.elements)), "settled": .bool(reply.pending.isSettled),
      "pending": reply.pending.json, "messages": .array(reply.messages.map(\.json)),
      "source": .string(bundle.source.rawValue), "md5": .string(bundle.md5.hex), "timings": .object(timings),
      "requests": .object([
        "total": .integer(Int64(reply.requests)), "hits": .integer(Int64(reply.hits)), "bytes": .integer(reply.bytes),
      ]),
      "errors": .array(reply.errors.map(\.json)), "reopened": .integer(Int64(reopened)),
    ]
    if let name { members["name"] = .string(name) }
    return members
  }
}
