import PageKit

/// Turns a page's errors into faults, with their places in the bundle's sources where it names a source map.
actor FaultReader {
  private let resources: ResourceLoader
  private let url: PageURL
  private let source: @Sendable () async -> String?
  private var text: String?
  private var map: SourceMap?
  private var hasLooked = false

  /// - Parameter source: the bundle's text.
  init(_ resources: ResourceLoader, url: PageURL, source: @escaping @Sendable () async -> String?) {
    self.resources = resources
    self.url = url
    self.source = source
  }

  func fault(of error: PageError) async -> RenderFault {
    guard case .script(_, .exception(let exception)) = error else { return RenderFault("\(error)", url: url.text) }
    return await fault(of: exception)
  }

  func fault(of exception: ScriptException) async -> RenderFault {
    await look()
    let mapped = map.map { exception.mapped(through: $0, of: url.text) } ?? exception.located
    var fault = RenderFault(mapped)
    if let line = mapped.line, let place = mapped.url {
      fault.code = map?.text(of: place, line: line) ?? (place == url.text ? lineOfBundle(line) : nil)
    }
    return fault
  }

  /// A map that cannot be had or read changes nothing but this: it is said.
  private func look() async {
    guard !hasLooked else { return }
    hasLooked = true
    guard let found = await source() else { return }
    text = found
    do {
      map = try await SourceMapLookup(resources).map(of: found, at: url)
    } catch {
      Terminal.error.line(Terminal.error.styled("bundlectl: going on without the source map: \(error)", .yellow))
    }
  }

  private func lineOfBundle(_ line: Int) -> String? {
    guard let lines = text?.split(separator: "\n", maxSplits: line, omittingEmptySubsequences: false),
      lines.count >= line
    else { return nil }
    return String(lines[line - 1])
  }
}
