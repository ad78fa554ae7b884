import HTTPTypes

extension HTTPRequest {
  /// The host that a request names, with its port if there is one. HTTP/2 may have a Host field in place of
  /// `:authority`. RFC 9113 §8.3.1.
  package var host: String? { authority ?? hostFields.first }

  /// The Host fields besides the one that became the authority.
  package var hostFields: [String] { Self.hostField.map { headerFields[values: $0] } ?? [] }

  private static let hostField = HTTPField.Name("Host")
}
