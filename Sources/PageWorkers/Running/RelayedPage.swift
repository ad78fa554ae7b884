import PageKit

/// A page in a worker. The daemon loads its resources, and those of embedded pages.
final class RelayedPage: PageInstance {
  /// The daemon's number of the page, or of the one that embeds it.
  nonisolated let root: UInt64
  private let relay: HostRelay
  private nonisolated let entries: EntryTable
  /// `true` if the daemon can see it run.
  private var isSeen = false

  init(environment: PageEnvironment, registry: PageRegistry?, root: UInt64, relay: HostRelay, entries: EntryTable) {
    self.root = root
    self.relay = relay
    self.entries = entries
    super.init(environment: environment, registry: registry)
    // The daemon decides which other pages hear it.
    ownChannelScope = Self.channelScope(of: root)
    isSeen = entries.add(id, page: root)
  }

  deinit { entries.remove(id) }

  /// The scope of the channels of a page and of those that it embeds or pushes.
  nonisolated static func channelScope(of root: UInt64) -> String { "\(root)" }

  override func renderByURL(
    _ text: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]
  ) async throws {
    guard let url = PageURL(text) else { throw fail(.invalidURL(text)) }
    try begin(url)
    try await orFallBack(options: options, data: data) {
      let source = try await relay.bundle(url, page: root)
      var options = options
      options.bundleURL = options.bundleURL ?? text
      try await render(source, options: options, data: data)
    }
  }

  override func render(
    _ source: String, options: PageOptions = PageOptions(), data: ScriptValue = [:]
  ) async throws {
    guard isSeen else { throw fail(.refused("too many pages run in one worker")) }
    try await super.render(source, options: options, data: data)
  }
}
