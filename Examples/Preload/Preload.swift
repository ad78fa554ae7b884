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
      print(update.totals.fetched, "of", update.totals.toFetch, "at", Int(update.totals.rate), "bytes/s")
    }
    let report = await preload.report()
    print(report.activated ? "release \(report.release ?? "") is current" : "\(report.failures)")

    // The bundle's URL is relative to that of the manifest.
    guard let url = host.configuration.manifest?.resolving(CommandLine.arguments[3]) else { return }
    let bundle = try await host.bundles.load(url)
    print(bundle.source, bundle.isVerified, bundle.bytes.count)
  }
}
