/// The names of the events that the viewers of a page are sent. Others are names of the page's own events, such as
/// `navigate` and `message`.
package enum LiveEvent {
  /// A patch of the page's HTML.
  package static let patch = "patch"
  /// The viewer fetches the whole page.
  package static let again = "again"
  /// The page has ended, with the reason.
  package static let ended = "ended"

  /// The name under which viewers are told of an event of their page; `nil` for one that they are not told of.
  package static func told(of event: String) -> String? {
    switch event {
    case patch, "navigate", "message", "exception": event
    case "failed": ended
    default: nil
    }
  }
}
