import Foundation
import PageKit

/// What a caller wants to have opened.
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
  init(json bytes: [UInt8]) throws {
    do {
      self = try JSONDecoder().decode(PageRequest.self, from: Data(bytes))
    } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context) {
      let place = context.codingPath.map(\.stringValue).joined(separator: ".")
      throw PageFailure.badRequest("the body is not a page's request: \(place): \(context.debugDescription)")
    } catch {
      throw PageFailure.badRequest("the body is not JSON")
    }
    try check()
  }

  /// - Throws: ``PageFailure/badRequest(_:)``.
  init(url: String?, name: String?, data: String?) throws {
    (self.url, self.name) = (url, name)
    if let data {
      guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(data.utf8)) else {
        throw PageFailure.badRequest("the parameter data is not JSON")
      }
      self.data = value
    }
    try check()
  }

  private func check() throws {
    guard (url == nil) != (name == nil) else { throw PageFailure.badRequest("give either a url or a name") }
    if let type = options?.type, BundleType(rawValue: type) == nil {
      let known = BundleType.allCases.map(\.rawValue).joined(separator: ", ")
      throw PageFailure.badRequest("there is no type \"\(type)\": use one of \(known)")
    }
  }
}
