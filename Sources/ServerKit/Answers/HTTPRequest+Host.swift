import HTTPTypes

extension HTTPRequest {
  /// The host that a request is for, with the port if it is named: HTTP/2 may leave `:authority` out, and have a Host
  /// field in its place. RFC 9113 §8.3.1.
  package var host: String? { authority ?? hostFields.first }

  /// Host fields beside what HTTP/1 and HTTP/2 make the authority of.
  package var hostFields: [String] { Self.hostField.map { headerFields[values: $0] } ?? [] }

  private static let hostField = HTTPField.Name("Host")
}
