import CurlTransport
import Foundation
import PageCore
import PageLoading
import PageStore
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

struct SmokeTests {
  @Test(arguments: ["home", "catalogue", "product", "article", "form", "notes", "weather", "settings"])
  func everySampleRenders(_ name: String) async throws {
    let folder = try TemporaryDirectory()
    let cache = try ResponseCache(store: try ResponseStore(at: ResponseDirectory(folder.file("r"))))
    let loader = ResourceLoader(cache: cache, transport: try CurlTransport(), coding: ContentDecoder())
    let registry = PageRegistry(
      defaults: PageHandlers(
        images: DefaultImageLoader(loader), exceptions: LoggedExceptions(), navigator: NoNavigation(), storage: MemoryStorage(), modals: SilentModals()))
    let environment = PageEnvironment(
      resources: loader, bundles: nil, registry: registry, configuration: DefaultConfiguration(),
      frameworks: FrameworkPool())
    let source = try String(contentsOfFile: "bundles/\(name).js", encoding: .utf8)
    let page = await PageInstance(environment: environment)
    try await page.render(source, options: PageOptions(bundleURL: "http://127.0.0.1:9/bundles/\(name).js"))
    let count = await page.tree.count
    #expect(count > 5)
    #expect(await page.phase == .live)
    print(name, count, await page.timings)
    await page.destroy()
  }
}
