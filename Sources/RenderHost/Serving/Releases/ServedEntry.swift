import Bundles
import HTTPCaching
import HTTPTransport

/// A bundle or file of a release, as it is served.
struct ServedEntry: Sendable {
  /// With its URL in the store.
  let bundle: PageBundle
  /// Below `/bundles/`, unescaped.
  let path: String
  /// `nil` if it is fetched when someone asks for it.
  let blob: Blob?
  /// When this path began to have these bytes here. No earlier content of the path has the same.
  let modified: HTTPDate

  /// As it is written in a URL.
  var location: String { "/bundles/" + URLPath.escaped(path) }
}
