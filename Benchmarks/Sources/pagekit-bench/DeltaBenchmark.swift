import Foundation

/// The bytes of updates: whole, and as differences of several formats.
///
/// Updates are edits of the sample bundles, and, if there are any, consecutive files of the folders in `histories`: the
/// published versions of libraries, for example, with names that sort as they follow one another.
struct DeltaBenchmark {
  let bundlectl: String
  let folder: String
  /// The folder of the sample bundles.
  let samples: String

  private struct Update {
    let old: Data
    let new: Data
  }

  func run(_ table: inout Table) throws {
    for edit in Edit.all { try measure(edit.name, try edited(edit), &table) }
    let histories = folder + "/histories"
    for name in (try? FileManager.default.contentsOfDirectory(atPath: histories))?.sorted() ?? [] {
      let files = try FileManager.default.contentsOfDirectory(atPath: "\(histories)/\(name)").sorted()
      let contents = try files.map { try Data(contentsOf: URL(fileURLWithPath: "\(histories)/\(name)/\($0)")) }
      let updates = zip(contents, contents.dropFirst()).filter { $0 != $1 }.map { Update(old: $0, new: $1) }
      if !updates.isEmpty { try measure("\(updates.count) updates of \(name)", updates, &table) }
    }
  }

  // MARK: Edits

  private struct Edit: Sendable {
    let name: String
    var isMinified = false
    let change: @Sendable (String) -> String

    static let all = [
      Edit(name: "a word") { $0.replacing("'", with: "'new ", maxReplacements: 1) },
      Edit(name: "a function") { inserting(function, in: $0) },
      Edit(name: "a renamed variable") { $0.replacing("document", with: "ownDocument") },
      Edit(name: "a function and a renamed variable, minified", isMinified: true) {
        inserting(function, in: $0.replacing("document", with: "ownDocument"))
      },
    ]

    private static let function = """

        function priceOf (goods, amount) {
          var price = goods.reduce(function (sum, item) { return sum + item.price * amount }, 0)
          return price > 100 ? 'from ' + price.toFixed(2) : 'about ' + Math.round(price)
        }

      """

    private static func inserting(_ text: String, in script: String) -> String {
      var lines = script.split(separator: "\n", omittingEmptySubsequences: false)
      lines.insert(Substring(text), at: lines.firstIndex { $0.isEmpty } ?? lines.count / 2)
      return lines.joined(separator: "\n")
    }
  }

  /// The edit of five samples.
  private func edited(_ edit: Edit) throws -> [Update] {
    let names = try FileManager.default.contentsOfDirectory(atPath: samples).filter { $0.hasSuffix(".js") }.sorted()
    return try names.prefix(5).map { name in
      let text = try String(contentsOfFile: "\(samples)/\(name)", encoding: .utf8)
      let form = edit.isMinified ? Self.minified : { $0 }
      return Update(old: Data(form(text).utf8), new: Data(form(edit.change(text)).utf8))
    }
  }

  /// The script without indentation and comments, as far as one line tells.
  private static func minified(_ script: String) -> String {
    script.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.hasPrefix("//") }.joined(separator: "\n")
  }

  // MARK: Sizes

  private func measure(_ name: String, _ updates: [Update], _ table: inout Table) throws {
    let root = folder + "/deltas"
    var sums: [String: Int] = [:]
    var ratios: [Double] = []
    for update in updates {
      try? FileManager.default.removeItem(atPath: root)
      for (side, data) in [("old", update.old), ("new", update.new)] {
        try FileManager.default.createDirectory(atPath: "\(root)/\(side)", withIntermediateDirectories: true)
        try data.write(to: URL(fileURLWithPath: "\(root)/\(side)/page.js"))
      }
      let sizes = try sizes(in: root)
      sums.merge(sizes) { $0 + $1 }
      if let ours = sizes["ours"], let whole = sizes["brotli"] { ratios.append(Double(ours) / Double(whole)) }
    }
    func sum(_ tool: String) -> String { sums[tool].map { String($0) } ?? "" }
    table.add(
      name, String(updates.reduce(0) { $0 + $1.new.count }), sum("brotli"), sum("zstd"), sum("bsdiff"), sum("xdelta3"),
      sum("ours"), "\(Figures.ratio(Measurement.median(ratios) * 100)) %")
  }

  private func sizes(in root: String) throws -> [String: Int] {
    let (old, new) = ("\(root)/old/page.js", "\(root)/new/page.js")
    try Child(["brotli", "-q", "11", "-f", "-o", "\(root)/brotli", new]).finish()
    try Child(["zstd", "-q", "-19", "-f", "-o", "\(root)/zstd", new]).finish()
    try Child(["bsdiff", old, new, "\(root)/bsdiff"]).finish()
    try Child(["xdelta3", "-e", "-9", "-f", "-s", old, new, "\(root)/xdelta3"]).finish()
    try Child([
      bundlectl, "manifest", "build", "\(root)/new", "-o", "\(root)/manifest.json", "--deltas-from", "\(root)/old",
    ]).finish()
    var sizes: [String: Int] = [:]
    for tool in ["brotli", "zstd", "bsdiff", "xdelta3"] { sizes[tool] = try Self.size("\(root)/\(tool)") }
    let deltas = (try? FileManager.default.contentsOfDirectory(atPath: "\(root)/new/deltas")) ?? []
    // Without a delta the whole content is sent.
    sizes["ours"] = try deltas.first.map { try Self.size("\(root)/new/deltas/\($0)") } ?? sizes["brotli"]
    return sizes
  }

  private static func size(_ path: String) throws -> Int {
    (try FileManager.default.attributesOfItem(atPath: path))[.size] as? Int ?? 0
  }
}
