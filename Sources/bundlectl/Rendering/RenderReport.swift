import Foundation
import PageKit

/// The JSON of `render`.
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

    /// The MD5 of a file; `nil` if it cannot be read.
    static func md5(of url: PageURL) -> String? {
      let data = url.filePath.flatMap { FileManager.default.contents(atPath: $0) }
      return data.flatMap { try? ContentDigests(of: Array($0)).md5.hex }
    }
  }

  struct Requests: Encodable {
    let total: Int
    /// The number of requests answered without the network.
    let hits: Int
    let bytes: Int64
  }

  /// `memory`, `store`, `network`, `stale`, `kept` or `file`; `nil` if the bundle was not available.
  let source: Nullable<String>
  /// The reason why the bundle is stale or unconfirmed.
  let note: String?
  let bundle: Bundle
  /// `rendered`, `empty` (the script ran and made no body) or `failed`.
  let state: String
  let settled: Bool
  /// The page's pending work, and work that was not waited for.
  let pending: JSONValue
  let requests: Requests
  /// Stages in seconds since the start; absent unless requested, since they differ from run to run.
  let timings: [String: Nullable<Double>]?
  let root: JSONValue
  /// The messages that the page showed with the module `modal`.
  let messages: [JSONValue]
  let errors: [RenderFault]
  /// Modules and components that the page uses and that are not registered.
  let missing: Missing
  /// The number of logged lines by level.
  let logged: [String: Int]

  struct Missing: Encodable {
    var components: [String] = []
    var modules: [String] = []
    /// As `module.method`.
    var methods: [String] = []

    init(_ parts: [MissingPart]) {
      for part in parts {
        switch part {
        case .component(let type): components.append(type)
        case .module(let name): modules.append(name)
        case .method(let module, let name): methods.append("\(module).\(name)")
        }
      }
    }
  }

  init(_ rendering: Rendering, isFile: Bool, withTimings: Bool) {
    source = Nullable(value: isFile ? "file" : rendering.source?.rawValue)
    note = rendering.note
    bundle = rendering.bundle
    (settled, pending) = (rendering.pending.isSettled, rendering.pending.json)
    let counted = rendering.timings
    requests = Requests(total: counted.requests, hits: counted.hits, bytes: counted.bytes)
    let stages = counted.stages.map { ($0.name, Nullable(value: $0.time?.seconds)) }
    timings = withTimings ? Dictionary(stages) { first, _ in first } : nil
    state = rendering.state.rawValue
    missing = Missing(rendering.missing)
    logged = rendering.logged
    root = rendering.tree.json
    messages = rendering.messages.map(\.json)
    errors = rendering.faults
  }
}
