import PageKit
import PageWorkers

/// A caller's request to open a page.
struct PageRequest: Codable, Hashable, Sendable {
  /// The page's URL. Either this or ``name`` is given.
  var url: String?
  /// The name of a bundle in the current release.
  var name: String?
  var data: JSONValue?
  var options: PageRequestOptions?
  /// The seconds to wait for the page's requests before it is rendered.
  var settle: Double?
  /// The longest delay in seconds of timers that are waited for.
  var timers: Double?

  /// - Throws: ``PageFailure/badRequest(_:)``.
  init(url: String?, name: String?, data: String?) throws {
    (self.url, self.name) = (url, name)
    if let data {
      do { self.data = try JSONValue(reading: Array(data.utf8)) } catch {
        throw PageFailure.badRequest("the parameter data is not JSON: \(error.sentence)")
      }
    }
    try check()
  }

  /// - Throws: ``PageFailure/badRequest(_:)``.
  func check() throws {
    guard (url == nil) != (name == nil) else { throw PageFailure.badRequest("give either a url or a name") }
    if let type = options?.type, BundleType(rawValue: type) == nil {
      let known = BundleType.allCases.map(\.rawValue).joined(separator: ", ")
      throw PageFailure.badRequest("there is no type \"\(type)\": use one of \(known)")
    }
  }
}
