/// Hears when a page's script is entered and left, on the script's thread: before and after everything that the script
/// does.
package protocol EntryObserving: Sendable {
  /// - Parameter page: the page's id.
  func began(_ page: String)
  func ended(_ page: String)
}
