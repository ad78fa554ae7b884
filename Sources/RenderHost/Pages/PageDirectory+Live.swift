import LivePages
import PageInspector
import PageKit
import PageWorkers

/// Pages that are used in browsers.
extension PageDirectory {
  /// A page as a viewer sees it, and the place in its events that the viewer goes on from.
  struct LiveView: Sendable {
    let page: OpenedPage
    /// The run of the page's script that the view is of.
    let run: UInt64
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
    return LiveView(page: page, run: page.reply.run ?? page.number, view: view, position: place)
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

  // MARK: Developer tools

  /// Shows what developer tools want in the viewers of a page.
  ///
  /// - Parameter debugger: the id of their session.
  func show(_ overlay: InspectedOverlay, by debugger: String, on id: String) {
    guard var overlays = pages[id].map({ $0.overlays ?? PageOverlays() }) else { return }
    let former = overlays.json
    overlays.set(overlay, by: debugger)
    pages[id]?.overlays = overlays
    if overlays.json != former { pages[id]?.live.append(LiveEvent.overlay, overlays.json) }
  }

  /// Tells the developer tools of a page which of its elements a viewer has chosen for them.
  ///
  /// - Throws: ``PageFailure`` if they do not wait for that.
  func pick(_ choice: PickedElement, of id: String) throws {
    let page = try page(id)
    guard page.overlays?.isPicking == true else {
      throw PageFailure.badRequest("no developer tools wait for an element of this page to be chosen")
    }
    guard choice.run == nil || choice.run == page.number else { throw PageFailure.earlierRun }
    page.log.traffic?.log.append(PickedElement.event, JSONValue.object(["ref": .string(choice.ref)]).text)
  }
}

/// The element that a viewer has chosen for developer tools.
struct PickedElement: Decodable, Sendable {
  /// The ref in the viewer's document.
  let ref: String
  /// The run of the page's script that the ref is of; `nil` for the present one.
  let run: UInt64?

  /// The name of the event that developer tools read.
  static let event = "picked"
  /// The limit of a ref in bytes.
  static let refLimit = 4_096
}

/// The overlays that developer tools show in the viewers of a page: the box is that of those that have asked last.
struct PageOverlays: Sendable {
  private var shown: [(debugger: String, overlay: InspectedOverlay)] = []

  mutating func set(_ overlay: InspectedOverlay, by debugger: String) {
    shown.removeAll { $0.debugger == debugger }
    if overlay != InspectedOverlay() { shown.append((debugger, overlay)) }
  }

  /// `true` if a click in a viewer chooses an element.
  var isPicking: Bool { shown.contains { $0.overlay.isPicking } }

  /// The details of ``LiveEvent/overlay``.
  var json: [UInt8] {
    let box = shown.last { $0.overlay.ref != nil }?.overlay
    return JSONValue.object([
      "ref": box?.ref.map { .string($0) } ?? .null, "label": .string(box?.label ?? ""), "picking": .bool(isPicking),
    ]).text
  }
}
