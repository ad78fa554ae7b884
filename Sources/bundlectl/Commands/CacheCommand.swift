import ArgumentParser
import Foundation
import HTTPCaching
import PageKit

struct CacheCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cache", abstract: "Show and clean the response cache.",
    subcommands: [Stats.self, List.self, Clear.self, Prune.self, Keep.self, Unkeep.self])

  struct Stats: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "stats", abstract: "Show the size of the response cache."
    )
    .with(examples: "bundlectl cache stats")

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    @OptionGroup var cache: CacheOptions

    func perform() async throws {
      let usage = try await cache.readableCache().usage().disk
      if json {
        try JSONOutput.print([
          "entries": usage.entries, "bytes": usage.bytes, "keptEntries": usage.keptEntries,
          "keptBytes": usage.keptBytes, "capacity": usage.capacity,
        ])
      } else {
        let capacity = Formatting.bytes(usage.capacity)
        Terminal.output.line(
          "\(Formatting.count(usage.entries, "response")), \(Formatting.bytes(usage.bytes)) of \(capacity)")
        Terminal.output.line("\(usage.keptEntries) kept, \(Formatting.bytes(usage.keptBytes))")
      }
    }
  }

  struct List: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the stored responses, most recently used first."
    )
    .with(examples: "bundlectl cache list")

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    @OptionGroup var cache: CacheOptions

    func perform() async throws {
      let now = HTTPDate.now.secondsSinceEpoch
      let listed = try await cache.readableCache().store.list()
      if json {
        let entries: [JSONObject] = listed.map {
          [
            "key": $0.key.name, "partition": $0.key.partition.text, "status": $0.head.status,
            "bytes": $0.head.extent.count, "storedAt": String(rfc3339: $0.storedAt),
            "freshFor": max(0, $0.head.staleAt - now), "kept": $0.isKept,
          ]
        }
        return try JSONOutput.print(["entries": entries])
      }
      if listed.isEmpty { Terminal.output.line("nothing is stored") }
      for entry in listed { Terminal.output.line(line(entry, now)) }
    }

    private func line(_ entry: ResponseEntry, _ now: Int64) -> String {
      let remaining = entry.head.staleAt - now
      let state = remaining > 0 ? "fresh \(remaining) s" : "stale"
      let size = Formatting.fitted(Formatting.bytes(entry.head.extent.count), 8)
      let part = entry.head.extent.isWhole ? "" : " (part)"
      let kept = entry.isKept ? " (kept)" : ""
      let partition = entry.key.partition == .private ? "" : " [\(entry.key.partition)]"
      return
        "\(entry.head.status)  \(size)  \(Formatting.fitted(state, 14))  \(entry.key.name)\(partition)\(part)\(kept)"
    }
  }

  struct Clear: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "clear", abstract: "Remove the response stored for a URL, or all of them, kept ones too.",
      discussion: """
        Without a URL it asks on a terminal, and needs --all elsewhere. Each region is cleared separately, with --region; \
        cookies stay.
        """
    )
    .with(examples: "bundlectl cache clear https://api.example.com/list.json", "bundlectl cache clear --all")

    @Argument(help: "The URL.", completion: Completions.responses)
    var url: String?

    @Flag(name: .long, help: "Remove everything, without asking.")
    var all = false

    @Flag(name: .long, help: "Use the response that a shared cache has stored.")
    var shared = false

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    @OptionGroup var cache: CacheOptions

    func validate() throws {
      guard url == nil || !all else { throw ValidationError("--all removes everything: it cannot be used with a URL.") }
      guard url != nil || all || !json && Terminal.isInteractive else {
        throw ValidationError("Name the URL whose response is to be removed, or remove everything with --all.")
      }
    }

    /// Asks if everything is to be removed.
    private func isConfirmed() async throws -> Bool {
      let usage = try await cache.readableCache().usage().disk
      let size = Formatting.bytes(usage.bytes)
      return Terminal.confirms("Remove \(Formatting.count(usage.entries, "response")), \(size), kept ones too?")
    }

    func perform() async throws {
      if url == nil, !all, try await !isConfirmed() { throw ExitCode.failure }
      let scope = try url.map { ResponseSelection.key(try CacheKey(argument: $0, isShared: shared)) } ?? .all
      let removed = try await cache.cache().store.remove(scope)
      if json { return try JSONOutput.print(["removed": removed]) }
      if url == nil {
        Terminal.output.line("removed \(Formatting.count(removed, "response"))")
      } else {
        Terminal.output.line(removed == 0 ? "nothing was stored for the URL" : "removed")
      }
    }
  }

  struct Prune: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "prune", abstract: "Remove responses that are not fresh; kept ones stay."
    )
    .with(examples: "bundlectl cache prune")

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    @OptionGroup var cache: CacheOptions

    func perform() async throws {
      let removed = try await cache.cache().store.remove(.stale(at: .now))
      if json { return try JSONOutput.print(["removed": removed]) }
      Terminal.output.line("removed \(Formatting.count(removed, "response"))")
    }
  }

  struct Keep: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "keep", abstract: "Keep the response stored for a URL for offline use: it is never evicted."
    )
    .with(examples: "bundlectl cache keep https://api.example.com/list.json")

    @Argument(help: "The URL.", completion: Completions.responses)
    var url: String

    @Flag(name: .long, help: "Use the response that a shared cache has stored.")
    var shared = false

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    @OptionGroup var cache: CacheOptions

    func perform() async throws {
      let key = try CacheKey(argument: url, isShared: shared)
      guard try await cache.cache().keep(key) else {
        if let release = try await cache.release(withFile: url) {
          throw DescribedError(
            "\(key.name) is a file of release \(release.name), and stays as long as the release: it needs no keeping"
          )
        }
        throw DescribedError(
          "nothing is stored for \(key.name) yet: fetch it with \"bundlectl fetch\"; it is kept from then on")
      }
      if json { return try JSONOutput.print(["url": key.name, "kept": true]) }
      Terminal.output.line("kept")
    }
  }

  struct Unkeep: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "unkeep", abstract: "Let the response stored for a URL be evicted again."
    )
    .with(examples: "bundlectl cache unkeep https://api.example.com/list.json")

    @Argument(help: "The URL.", completion: Completions.responses)
    var url: String

    @Flag(name: .long, help: "Use the response that a shared cache has stored.")
    var shared = false

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    @OptionGroup var cache: CacheOptions

    func perform() async throws {
      let key = try CacheKey(argument: url, isShared: shared)
      try await cache.cache().unkeep(key)
      if json { return try JSONOutput.print(["url": key.name, "kept": false]) }
      Terminal.output.line("no longer kept")
    }
  }
}

extension CacheKey {
  fileprivate init(argument text: String, isShared: Bool) throws {
    guard let url = PageURL(text) else { throw LoadError.invalidReference(text) }
    self.init(url, in: isShared ? .shared : .private)
  }
}
