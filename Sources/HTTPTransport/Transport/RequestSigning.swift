import HTTPTypes

/// A key that signs requests as Amazon's services, and others that are used like them, ask for it: AWS Signature
/// Version 4.
package struct RequestSigning: Hashable, Sendable, CustomStringConvertible {
  /// The name of the key, which every request shows.
  package let accessKey: String
  package let secretKey: String
  /// The token of a key that is valid for some hours; `nil` for any other.
  package let sessionToken: String?
  /// The region of the service, such as `eu-central-1`.
  package let region: String
  /// The service, such as `s3`.
  package let service: String

  package init(
    accessKey: String, secretKey: String, sessionToken: String? = nil, region: String, service: String = "s3"
  ) {
    (self.accessKey, self.secretKey, self.sessionToken) = (accessKey, secretKey, sessionToken)
    (self.region, self.service) = (region, service)
  }

  /// The key's name, without its secret.
  package var description: String { "key \(accessKey) for \(service) in \(region)" }
}

/// Signs the requests below a URL, and sends all others as they are.
package struct SigningTransport: HTTPTransporting {
  private let transport: any HTTPTransporting
  private let signing: RequestSigning
  private let prefix: String
  private let methods: [HTTPRequest.Method]
  private let isObject: @Sendable (String) -> Bool

  /// - Parameters:
  ///   - folder: the URL of the folder, such as that of a bucket; it ends with a slash.
  ///   - methods: those of the requests that are signed.
  ///   - isObject: tells by the rest of the URL, without a percent sign decoded, which requests are signed.
  package init(
    _ transport: any HTTPTransporting, signing: RequestSigning, below folder: PageURL,
    only methods: [HTTPRequest.Method], where isObject: @escaping @Sendable (String) -> Bool
  ) {
    (self.transport, self.signing, prefix) = (transport, signing, folder.text)
    (self.methods, self.isObject) = (methods, isObject)
  }

  package func send(_ request: TransportRequest) async throws -> TransportResponse {
    guard methods.contains(request.head.method), isBelow(request.url) else {
      return try await transport.send(request)
    }
    return try await transport.send(try request.signed(by: signing))
  }

  /// Returns `true` for the URL of an object below the folder, in the only form that every server reads as that object:
  /// without a query, dot segments and escaped slashes.
  private func isBelow(_ url: String) -> Bool {
    guard url.hasPrefix(prefix), PageURL.isNormal(url) else { return false }
    let rest = url.dropFirst(prefix.count)
    return !["?", "#", "\\", "%2F", "%5C", "%00"].contains { rest.contains($0) } && isObject(String(rest))
  }

  package func shutDown() async { await transport.shutDown() }
}

extension TransportRequest {
  /// The request with a signature, and with the fields that it covers beside those that libcurl makes.
  ///
  /// - Throws: ``DigestError``.
  package func signed(by signing: RequestSigning) throws -> TransportRequest {
    var request = self
    request.signing = signing
    if let name = HTTPField.Name("x-amz-content-sha256"), request.head.headerFields[name] == nil {
      request.head.headerFields[name] = stream == nil ? try SHA256Digest(of: body).hex : "UNSIGNED-PAYLOAD"
    }
    if let token = signing.sessionToken, let name = HTTPField.Name("x-amz-security-token") {
      request.head.headerFields[name] = token
    }
    return request
  }
}
