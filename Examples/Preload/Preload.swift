import PageKit

/// Preloads the manifest that is named, and opens its first bundle.
@main
enum PreloadExample {
  static func main() async throws {
    guard CommandLine.arguments.count == 3 else { return print("usage: preload MANIFEST STORE") }
    let host = try PageHost(
      .init(manifest: CommandLine.arguments[1], store: StoreDirectory(CommandLine.arguments[2])))

    let preload = host.preload()
    for await update in preload.updates {
      print(update.totals.fetched, "of", update.totals.toFetch, "at", Int(update.totals.rate), "bytes/s")
    }
    let report = await preload.report()
    print(report.activated ? "release \(report.release ?? "") is current" : "\(report.failures)")

    guard let manifest = host.configuration.manifest,
      let release = try await host.store.source(manifest)?.current,
      let first = try await host.store.contents(of: release).first
    else { return }
    let bundle = try await host.bundles.load(first.bundle.url)
    print(first.bundle.name, bundle.source, bundle.isVerified, bundle.bytes.count)
  }
}
