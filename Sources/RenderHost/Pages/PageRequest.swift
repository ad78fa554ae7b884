import PageKit
import PageWorkers

/// A caller's request to open a page.
struct PageRequest: Codable, Hashable, Sendable {
  /// One of the two.
  var url: String?
  /// A bundle's of the current release.
  var name: String?
  var data: JSONValue?
  var options: PageRequestOptions?
  /// Seconds to wait for what the page asks for, before it is looked at.
  var settle: Double?
  /// Seconds that a timer may have to go to be waited for.
  var timers: Double?

  /// - Throws: ``PageFailure/badRequest(_:)``.
  init(url: String?, name: String?, data: String?) throws {
    (self.url, self.name) = (url, name)
    if let data {
      do { self.data = try JSONValue(reading: Array(data.utf8)) } catch {
        throw PageFailure.badRequest("the parameter data is not JSON: \(error)")
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
