import PageKit
import ServiceLifecycle

/// Keeps what pages may fetch in step with the release: the origins of its bundles, and of what they prefetch.
struct NamedOrigins: Service {
  let access: AccessGuard
  let feed: ReleaseFeed

  func run() async throws {
    let told = access.policy
    guard let changes = feed.changes() else { return }
    await cancelWhenGracefulShutdown {
      update(from: told)
      for await _ in changes { update(from: told) }
    }
  }

  private func update(from told: AccessPolicy) {
    guard let release = feed.current else { return }
    var policy = told
    policy.add(release.entries.map(\.bundle.url))
    access.policy = policy
  }
}
