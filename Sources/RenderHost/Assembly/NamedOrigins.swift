import PageKit
import ServiceLifecycle

/// Keeps what pages may fetch in step with the release: the origins of its bundles, and of what they prefetch.
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
