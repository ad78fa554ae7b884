import ArgumentParser
import Foundation
import PageKit

struct RenderCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "render",
    abstract: "Run a bundle and show its elements.",
    discussion: """
      Takes a file, or the URL of a bundle, which opens from the store where the server's MD5 says that it may. What \
      the script logs, and its errors, go to standard error.
      """)

  enum Format: String, ExpressibleByArgument, CaseIterable {
    case outline, html, json
  }

  @Argument(help: "A bundle: a file or a URL.")
  var bundle: String

  @Option(name: .long, help: "outline (an element a line), html (for a browser) or json.")
  var format = Format.outline

  @Option(name: [.customShort("o"), .customLong("output")], help: ArgumentHelp("Write it here.", valueName: "file"))
  var output: String?

  @Flag(name: .long, help: "Render again whenever the file changes, until interrupted.")
  var watch = false

  @Option(name: .long, help: ArgumentHelp("The page's data.", valueName: "json"))
  var data: String?

  @Option(
    name: .long,
    help: ArgumentHelp("A framework file for bundles that are not plain: Vue, Rax, Weex.", valueName: "file"))
  var framework: String?

  @Option(name: .long, help: ArgumentHelp("Seconds to wait for what the page asks for.", valueName: "seconds"))
  var wait = 10.0

  @OptionGroup var store: StoreOptions

  mutating func validate() throws {
    guard (0...3600).contains(wait) else { throw ValidationError("--wait must be from 0 to 3600 seconds.") }
    guard !watch || !bundle.contains("://") else { throw ValidationError("Only a file can be watched.") }
  }

  func run() async throws {
    let url = try PageURL(manifestArgument: bundle)
    let host = try makeHost(url)
    var lastChange = FileWatch.stamp(of: url)
    while true {
      let isGood = try await render(url, host)
      guard watch else {
        if !isGood { throw ExitCode.failure }
        return
      }
      lastChange = try await FileWatch.change(of: url, after: lastChange)
    }
  }

  private func makeHost(_ url: PageURL) throws -> PageHost {
    var configuration = HostConfiguration(manifest: url.resolving("../manifest.json") ?? url, store: store.directory)
    configuration.logger = store.logger
    configuration.resources.localFolder = url.filePath.map { ($0 as NSString).deletingLastPathComponent }
    if let framework {
      let text = try String(contentsOfFile: framework, encoding: .utf8)
      for type in [BundleType.vue, .rax, .weex] { configuration.scripts.frameworks[type] = text }
    }
    return try PageHost(configuration)
  }

  private func render(_ url: PageURL, _ host: PageHost) async throws -> Bool {
    let page = await host.page()
    let log = Task { for await event in page.events { Self.report(event) } }
    defer { log.cancel() }
    let values = data.flatMap { ScriptValue(json: $0) } ?? [:]
    do {
      if let path = url.filePath {
        let source = try String(contentsOfFile: path, encoding: .utf8)
        try await page.render(source, at: url, data: values)
      } else {
        try await page.renderByURL(url.text, data: values)
      }
    } catch {
      Terminal.error.line("bundlectl: \(Terminal.error.styled("\(error)", .red))")
      await page.destroy()
      return false
    }
    if await !page.settle(within: .seconds(wait)) {
      Terminal.error.line("bundlectl: the page still waits for something after \(wait) s; this is what there is")
    }
    try show(await page.tree, url)
    await page.destroy()
    return true
  }

  private func show(_ tree: ElementTree, _ url: PageURL) throws {
    let text: String
    switch store.json ? .json : format {
    case .outline: text = tree.outline + "\n"
    case .json:
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      text = String(decoding: try encoder.encode(tree.json), as: UTF8.self) + "\n"
    case .html:
      text = HTMLPreview(tree, title: url.readable) { url.resolving($0)?.text ?? $0 }.html
    }
    guard let output else { return Terminal.output.write(text) }
    try OutputFile.write(Data(text.utf8), to: output)
    if watch { Terminal.error.line("rendered \(tree.count) elements to \(output)") }
  }

  private static func report(_ event: PageEvent) {
    switch event {
    case .log(let level, let text): Terminal.error.line("\(level): \(text)")
    case .exception(let exception):
      Terminal.error.line("bundlectl: \(Terminal.error.styled(exception.description, .red))")
    default: break
    }
  }
}

/// Notices that a file was written.
private enum FileWatch {
  static func stamp(of url: PageURL) -> Date? {
    url.filePath.flatMap { try? FileManager.default.attributesOfItem(atPath: $0)[.modificationDate] as? Date }
  }

  static func change(of url: PageURL, after former: Date?) async throws -> Date? {
    while true {
      try await Task.sleep(for: .milliseconds(200))
      let now = stamp(of: url)
      if now != former, now != nil { return now }
    }
  }
}
