import Foundation
import FoundationNetworking
import HTTPCacheFoundation
import PageKit

/// Samples of "Caching".
enum URLRequestSamples {
  static func request(_ host: PageHost, _ urlRequest: URLRequest) async throws {
    if let request = ResourceRequest(urlRequest) { print(try await host.resources.response(for: request).status) }
  }

  static func fields(_ host: PageHost, _ url: URL) async throws {
    var asked = URLRequest(url: url, cachePolicy: .returnCacheDataElseLoad)
    asked.setValue("application/json", forHTTPHeaderField: "Accept")
    if let request = ResourceRequest(asked) { print(try await host.resources.response(for: request).status) }
  }
}
