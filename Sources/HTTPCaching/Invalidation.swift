import HTTPTypes

extension CachePolicy {
  /// Whether an answer makes what is stored for its URL doubtful: one without an error, to a method that is not known
  /// to be safe. RFC 9111 §4.4.
  public func invalidates(_ method: HTTPRequest.Method, _ response: HTTPResponse) -> Bool {
    // RFC 9110 §9.2.1.
    let isSafe = [.get, .head, .options, .trace].contains(method)
    return !isSafe && (200..<400).contains(response.status.code)
  }

  /// References in the answer whose targets are doubtful too, where they have the request's origin: that is for the
  /// caller to see, who can resolve them. RFC 9111 §4.4.
  public func invalidatedReferences(_ response: HTTPResponse) -> [String] {
    [HTTPField.Name.location, .contentLocation].compactMap { response.headerFields[$0] }
  }
}
