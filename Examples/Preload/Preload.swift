import PageKit

/// Preloads the manifest that is named, and loads one of its bundles.
@main
enum PreloadExample {
  static func main() async throws {
    guard CommandLine.arguments.count == 4 else { return print("usage: preload MANIFEST STORE BUNDLE") }
    let host = try PageHost(
      .init(manifest: CommandLine.arguments[1], store: StoreDirectory(CommandLine.arguments[2])))

    let preload = host.preload()
    for await update in preload.updates {
      let totals = update.totals
      print(totals.fetched, "of", totals.toFetch, "fetched,", totals.bytesHere, "of", totals.bytesToFetch, "bytes")
    }
    let report = await preload.report()
    print(report.failures.isEmpty ? "release \(report.release ?? "") is current" : "\(report.failures)")

    // The bundle's URL is relative to that of the manifest.
    guard let url = host.configuration.manifest?.resolving(CommandLine.arguments[3]) else { return }
    let bundle = try await host.bundles.load(url)
    print(bundle.source, bundle.isVerified, bundle.bytes.count)
    await host.shutDown()
  }
}
