import ArgumentParser
import Foundation
import PageKit

struct ExplainCommand: JSONCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Show how the cache would answer a request now, and by which rule.",
    discussion: "No server is asked."
  )
  .with(
    examples: "bundlectl explain https://api.example.com/list.json",
    "bundlectl explain -H 'Accept-Language: de' https://api.example.com/list.json")

  @Argument(help: "The URL.")
  var url: String

  @Option(
    name: [.short, .long], help: ArgumentHelp("How the cache and the network are used.", valueName: "policy"),
    completion: Completions.policies)
  var policy = "protocolCache"

  @Option(
    name: [.customShort("H"), .customLong("header")],
    help: ArgumentHelp("A header field, as 'Accept: …'. Repeatable.", valueName: "field"))
  var header: [String] = []

  @Flag(name: .long, help: "Decide as a shared cache.")
  var shared = false

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  @OptionGroup var cache: CacheOptions

  func perform() async throws {
    let behavior = try LoadBehavior(policy: policy)
    let request = ResourceRequest(url, fields: try SourceOptions.fields(header), behavior: behavior)
    let cookies = try cache.cookies(isShared: shared)
    try await cache.withLoader(isShared: shared, cookies: cookies) { loader in
      let explanation = try await loader.explain(request)
      if json { try JSONOutput.print(Self.json(explanation)) } else { show(explanation) }
    }
  }

  private func show(_ explanation: Explanation) {
    let terminal = Terminal.output
    let clause = explanation.clause.map { " (\($0))" } ?? ""
    terminal.line("\(terminal.styled(explanation.decision.rawValue, .bold)): \(explanation.rule)\(clause)")
    func line(_ name: String, _ value: String?) {
      if let value { terminal.line("  \(Formatting.fitted(name, 14))\(value)") }
    }
    line("behavior", explanation.behavior)
    line("partition", explanation.partition)
    line("stored", explanation.storedAt.map { String(rfc3339: $0) } ?? "no")
    line("age", explanation.age.map { "\($0) s" })
    line("fresh for", explanation.freshFor.map { "\($0) s" })
    line("stale for", explanation.staleFor.map { "\($0) s" })
    line("ETag", explanation.etag)
    line("Last-Modified", explanation.lastModified)
    line("Vary", explanation.vary.isEmpty ? nil : explanation.vary.joined(separator: ", "))
    line("kept", explanation.isKept ? "yes" : nil)
  }

  private static func json(_ explanation: Explanation) -> JSONObject {
    [
      "url": explanation.url.text, "decision": explanation.decision.rawValue, "rule": explanation.rule,
      "clause": explanation.clause, "storedAt": explanation.storedAt.map { String(rfc3339: $0) },
      "age": explanation.age, "freshFor": explanation.freshFor, "staleFor": explanation.staleFor,
      "etag": explanation.etag, "lastModified": explanation.lastModified, "vary": explanation.vary,
      "partition": explanation.partition, "kept": explanation.isKept, "behavior": explanation.behavior,
    ]
  }
}
