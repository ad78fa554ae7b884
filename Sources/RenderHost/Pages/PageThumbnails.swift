import Containers
import HTTPTransport
import PageKit
import PageWorkers

/// The small pictures of open pages that the dashboard shows, by the pages' ids.
struct PageThumbnails: Sendable {
  /// A drawing, or the reason why there is none.
  struct Thumbnail: Sendable {
    let version: String
    let file: Result<[UInt8], PageFailure>
    let drawn: ContinuousClock.Instant

    /// - Returns: `true` if the page need not be drawn again: it is as it was, or could not be drawn a moment ago.
    func answers(_ version: String, at now: ContinuousClock.Instant) -> Bool {
      switch file {
      case .failure(.busy), .failure(.full): now < drawn + PageThumbnails.busyPause
      case .failure: now < drawn + PageThumbnails.failurePause
      case .success: version == self.version
      }
    }
  }

  /// The time after which a page that could not be drawn is tried again.
  static let failurePause: Duration = .seconds(30)
  /// The same, if it was only not its turn.
  static let busyPause: Duration = .seconds(1)
  /// The longest time of a drawing in seconds, and of the wait for the drawings before it.
  static let timeLimit = 2.0
  static let wait: Duration = .seconds(10)
  /// A phone's screen with half a pixel for each point: 188 by 406 pixels.
  static let screen = PictureOptions.Screen("375x812@0.5")
  /// The most bytes of all files.
  private static let capacity = 16 << 20
  private static let waitingLimit = 256

  private let kept = LRUCache<String, Thumbnail>(capacity: capacity)
  /// One page is drawn at a time, however many dashboards are open.
  private let gate = FairGate<String>(width: 1, limit: waitingLimit)

  /// - Returns: `nil` if the page is to be drawn.
  func thumbnail(of page: OpenedPage, at now: ContinuousClock.Instant) -> Thumbnail? {
    kept[page.id].flatMap { $0.answers(page.version, at: now) ? $0 : nil }
  }

  func keep(_ thumbnail: Thumbnail, of id: String) {
    let bytes = (try? thumbnail.file.get().count) ?? 0
    kept.insert(thumbnail, for: id, cost: bytes + 1_000)
  }

  func remove(_ id: String) { kept.remove(id) }

  /// - Parameter client: the client whose turn is used.
  /// - Throws: ``PageFailure``, `CancellationError`.
  func oneAtATime<Result: Sendable>(
    for client: String, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
  ) async throws -> Result {
    let pass: FairGate<String>.Pass
    do {
      pass = try await gate.enter(for: client, until: .now + Self.wait)
    } catch is FairGate<String>.Refusal {
      throw PageFailure.busy("other pages are being drawn")
    }
    defer { gate.leave(pass) }
    return try await body()
  }
}

extension PageDirectory {
  /// The name under which drawings for dashboards take turns with the clients.
  private static let dashboards = "dashboards"

  /// Returns a small picture of a page as it is, as a PNG file of 188 by 406 pixels. It is drawn again only when the page
  /// may have changed, and does not keep the page open.
  ///
  /// - Parameter client: the dashboard that shows it.
  /// - Throws: ``PageFailure``, `CancellationError`.
  func thumbnail(of id: String, for client: String) async throws -> [UInt8] {
    guard configuration.draws else { throw PageFailure.noPictures(configuration.hints) }
    if let kept = try keptThumbnail(of: id) { return try kept.file.get() }
    return try await thumbnails.oneAtATime(for: client) {
      // Another dashboard may have had it drawn meanwhile.
      if let kept = try keptThumbnail(of: id) { return try kept.file.get() }
      guard let page = pages[id] else { throw PageFailure.unknownPage(id) }
      guard page.reopening == nil else { throw PageFailure.busy("the page is being opened again") }
      var options = PictureOptions(.png, screen: PageThumbnails.screen)
      options.timeLimit = PageThumbnails.timeLimit
      let version = page.version
      let file: Result<[UInt8], PageFailure>
      do {
        let view = PageView(options)
        let (_, seen, _) = try await call(id, for: Self.dashboards, as: .glance, extra: options.timeLimit) {
          .show(call: $0, page: $1, view)
        }
        file = .success(seen)
      } catch let failure as PageFailure {
        file = .failure(failure)
      }
      if pages[id] != nil {
        thumbnails.keep(.init(version: version, file: file, drawn: configuration.now()), of: id)
      }
      return try file.get()
    }
  }

  private func keptThumbnail(of id: String) throws -> PageThumbnails.Thumbnail? {
    guard let page = pages[id] else { throw PageFailure.unknownPage(id) }
    return thumbnails.thumbnail(of: page, at: configuration.now())
  }
}
