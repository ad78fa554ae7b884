import Foundation
import FoundationNetworking
import HTTPCache
import HTTPTypes

extension ResourceRequest {
  /// Makes a request of Foundation's: its URL, method, fields, body and cache policy.
  ///
  /// The default cache policy leaves the choice to the loader's rules. A body that is a stream is left out, and so are
  /// time-outs and the options of services and cookies: the loader's configuration has its own.
  ///
  ///     var asked = URLRequest(url: url, cachePolicy: .returnCacheDataElseLoad)
  ///     asked.setValue("application/json", forHTTPHeaderField: "Accept")
  ///     if let request = ResourceRequest(asked) { print(try await host.resources.response(for: request).status) }
  ///
  /// - Parameter request: a request with a URL; `nil` is returned for one without, and for a method that is not a token of
  ///   HTTP.
  public init?(_ request: URLRequest) {
    guard let url = request.url, let method = HTTPRequest.Method(rawValue: request.httpMethod ?? "GET") else {
      return nil
    }
    var fields = HTTPFields()
    for (name, value) in request.allHTTPHeaderFields ?? [:] {
      if let name = HTTPField.Name(name) { fields[name] = value }
    }
    self.init(
      url, method: method, fields: fields, body: request.httpBody ?? Data(),
      behavior: LoadBehavior(request.cachePolicy))
  }
}

extension LoadBehavior {
  /// Makes the behaviour of a cache policy's name; `nil` for the default, which leaves the choice to rules.
  fileprivate init?(_ policy: URLRequest.CachePolicy) {
    switch policy {
    case .useProtocolCachePolicy: return nil
    case .reloadIgnoringLocalCacheData: self = .reloadIgnoringLocalCacheData
    case .reloadIgnoringLocalAndRemoteCacheData: self = .reloadIgnoringLocalAndRemoteCacheData
    case .returnCacheDataElseLoad: self = .returnCacheDataElseLoad
    case .returnCacheDataDontLoad: self = .returnCacheDataDontLoad
    case .reloadRevalidatingCacheData: self = .reloadRevalidatingCacheData
    @unknown default: return nil
    }
  }
}
