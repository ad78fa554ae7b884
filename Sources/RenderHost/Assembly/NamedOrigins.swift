import PageKit
import ServiceLifecycle

/// Updates the access policy with each release: the origins of its bundles and of the URLs that they prefetch.
struct NamedOrigins: Service {
  let access: AccessGuard
  let feed: ReleaseFeed

  func run() async throws {
    guard let changes = feed.changes() else { return }
    await cancelWhenGracefulShutdown {
      follow()
      for await _ in changes { follow() }
    }
  }

  private func follow() {
    if let release = feed.current { access.follow(release.entries.map(\.bundle)) }
  }
}
