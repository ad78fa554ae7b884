import Foundation
import PageKit

/// The topmost page of a stack, in a picture file.
struct Screen {
  let stack: PageStack
  let file: URL
  /// The shortest time from one picture to the next.
  let interval: Duration

  /// Draws the page, and again when it has changed, until the task is cancelled.
  ///
  /// - Throws: `PictureError`, or that the file cannot be written.
  func follow() async throws {
    // Changes that come while a picture is made are one.
    let (changes, changed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    // An error of one ends the other.
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { await watch { changed.yield() } }
      group.addTask {
        for await _ in changes {
          try await draw()
          try await Task.sleep(for: interval)
        }
      }
    }
  }

  /// Draws the page as it is. A reader of the file finds one whole picture or the other.
  func draw() async throws {
    guard let page = await stack.top else { return }
    let picture = Data(try await page.picture())
    if picture != (try? Data(contentsOf: file)) { try picture.write(to: file, options: .atomic) }
  }

  /// Calls back when another page is on top, and when a page of the stack may look different: its boxes have changed, as
  /// they do when it is scrolled, or its elements have, such as their colours, or a picture has come.
  private func watch(_ changed: @escaping @Sendable () -> Void) async {
    await withDiscardingTaskGroup { group in
      var watched: Set<String> = []
      for await pages in await stack.changes {
        changed()
        for page in pages where !watched.contains(page.id) {
          // Both end with the page.
          group.addTask { for await _ in await page.layoutChanges { changed() } }
          group.addTask { for await event in page.events where event.changesElements { changed() } }
        }
        watched = Set(pages.map(\.id))
      }
    }
  }
}

extension PageEvent {
  fileprivate var changesElements: Bool {
    switch self {
    case .commands, .image, .rendered, .snapshot: true
    default: false
    }
  }
}
