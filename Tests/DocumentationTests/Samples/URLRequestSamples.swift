import Foundation
import FoundationNetworking
import HTTPCacheFoundation
import PageKit

/// Samples of "Caching".
enum URLRequestSamples {
  static func request(_ host: PageHost, _ urlRequest: URLRequest) async throws {
    if let request = ResourceRequest(urlRequest) { print(try await host.resources.response(for: request).status) }
  }
}
