import Foundation
import PageKit

/// What `render --json` prints.
struct RenderReport: Encodable {
  struct Bundle: Encodable {
    var name: String?
    var url: String
    var md5: String?

    private enum CodingKeys: CodingKey {
      case name, url, md5
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      try container.encode(url, forKey: .url)
      try container.encode(md5, forKey: .md5)
    }

    /// Of a file; nil where it cannot be read.
    static func md5(of url: PageURL) -> String? {
      let data = url.filePath.flatMap { FileManager.default.contents(atPath: $0) }
      return data.flatMap { try? ContentDigests(of: Array($0)).md5.hex }
    }
  }

  struct Requests: Encodable {
    let total: Int
    /// Answered without the network.
    let hits: Int
    let bytes: Int64
  }

  /// `memory`, `store`, `network`, `stale` or `file`; nil where the bundle could not be had.
  let source: Nullable<String>
  /// Why it is stale or unconfirmed.
  let note: String?
  let bundle: Bundle
  let settled: Bool
  let requests: Requests
  /// Stages, in seconds since the page was asked for.
  let timings: [String: Nullable<Double>]
  let root: JSONValue
  let errors: [RenderFault]

  init(_ rendering: Rendering, isFile: Bool) {
    source = Nullable(value: isFile ? "file" : rendering.source?.rawValue)
    note = rendering.note
    bundle = rendering.bundle
    settled = rendering.isSettled
    let counted = rendering.timings
    requests = Requests(total: counted.requests, hits: counted.hits, bytes: counted.bytes)
    timings = Dictionary(counted.stages.map { ($0.name, Nullable(value: $0.time?.seconds)) }) { first, _ in first }
    root = rendering.tree.json
    errors = rendering.faults
  }
}
