import LivePages
import PageKit
import PageWorkers

/// Pages that are used in browsers.
extension PageDirectory {
  /// A page as a viewer sees it, and the place in its events that the viewer goes on from.
  struct LiveView: Sendable {
    let page: OpenedPage
    /// As JSON.
    let view: [UInt8]
    let position: Int

    /// The request that opens the page again.
    var request: JSONValue {
      var members: [String: JSONValue] = page.name.map { ["name": .string($0)] } ?? ["url": .string(page.location)]
      members["device"] = page.opening.device.map { .string($0.description) }
      return .object(members)
    }
  }

  /// The time without viewers after which a worker no longer compares a page with what they have seen.
  static let unseenTime: Duration = .seconds(10)

  /// Opens a page for a viewer.
  ///
  /// - Parameter client: the client whose turn is used.
  /// - Throws: ``PageFailure``.
  func openLive(_ request: PageRequest, for client: String) async throws -> LiveView {
    let (page, _) = try await open(request, view: nil, for: client)
    pages[page.id]?.isViewers = true
    do {
      // What the page has said while it was opened is for its viewer too.
      return try await liveView(of: page.id, from: 0, for: client)
    } catch {
      await end(page.id, "closed", nil)
      throw error
    }
  }

  /// Returns a page as it is, and has its worker report what changes.
  ///
  /// - Parameters:
  ///   - position: the place in its events that a viewer goes on from; `nil` for the present one.
  ///   - client: the client whose turn is used.
  /// - Throws: ``PageFailure``.
  func liveView(of id: String, from position: Int? = nil, for client: String) async throws -> LiveView {
    let place = try position ?? page(id).live.lastID
    let (page, view, _) = try await call(id, for: client) {
      .follow(call: $0, page: $1, resources: "/pages/\(id)/live/resource?url=")
    }
    pages[id]?.isFollowed = true
    return LiveView(page: page, view: view, position: place)
  }

  /// Closes a page that was opened for a viewer, which leaves. Other pages stay.
  ///
  /// - Throws: ``PageFailure``.
  func leave(_ id: String) async throws {
    if try page(id).isViewers { await end(id, "closed", nil) }
  }

  /// Ends the reports about pages that have had no viewers for a while.
  func unfollow(at now: ContinuousClock.Instant) async {
    for page in pages.values where page.isFollowed && page.live.watchers == 0 {
      guard page.lastAsked + Self.unseenTime <= now else { continue }
      pages[page.id]?.isFollowed = false
      // A viewer that comes back has missed what changes from now on.
      page.live.append(LiveEvent.again, JSONValue.object([:]).text)
      await pool.unfollow(page.number)
    }
  }
}
