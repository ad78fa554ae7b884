import PageKit
import PageTesting
import Testing

@testable import RenderHost

struct PublicLocationsTests {
  @Test(
    "the URLs of pages have an address that a client can use",
    arguments: [
      ("127.0.0.1", [], "http://127.0.0.1:8080"), ("::1", ["pages.example"], "http://[::1]:8080"),
      ("0.0.0.0", [], "http://localhost:8080"), ("::", [], "http://localhost:8080"),
      ("0.0.0.0", ["pages.example", "other.example"], "http://pages.example:8080"),
    ])
  func theAddressOfPages(_ address: String, _ hosts: [String], _ origin: String) throws {
    let folder = try TemporaryDirectory()
    var settings = Settings()
    (settings.bundles, settings.address, settings.port, settings.hosts) = (folder.path, address, 8080, hosts)
    let locations = PublicLocations(feed: ReleaseFeed(), settings: settings)
    let source = try FolderSource(folder: folder.path, store: settings.store)
    let bundle = try #require(PageURL(source.base + "home.js"))
    #expect(locations.location(of: bundle) == origin + "/bundles/home.js")
  }
}
