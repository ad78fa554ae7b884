import HTTPTypes

extension HTTPResponse.Status {
  /// The reason phrase of RFC 9110 §15, since HTTP/2 has none on the wire. Empty for a code that is not registered.
  var standardPhrase: String { Self.phrases[code] ?? "" }

  private static let phrases = Dictionary(
    [
      .continue, .switchingProtocols, .earlyHints, .ok, .created, .accepted, .nonAuthoritativeInformation, .noContent,
      .resetContent, .partialContent, .multipleChoices, .movedPermanently, .found, .seeOther, .notModified,
      .temporaryRedirect, .permanentRedirect, .badRequest, .unauthorized, .forbidden, .notFound, .methodNotAllowed,
      .notAcceptable, .proxyAuthenticationRequired, .requestTimeout, .conflict, .gone, .lengthRequired,
      .preconditionFailed, .contentTooLarge, .uriTooLong, .unsupportedMediaType, .rangeNotSatisfiable,
      .expectationFailed, .misdirectedRequest, .unprocessableContent, .tooEarly, .upgradeRequired,
      .preconditionRequired, .tooManyRequests, .requestHeaderFieldsTooLarge, .unavailableForLegalReasons,
      .internalServerError, .notImplemented, .badGateway, .serviceUnavailable, .gatewayTimeout,
      .httpVersionNotSupported, .networkAuthenticationRequired,
    ].map { (status: HTTPResponse.Status) in (status.code, status.reasonPhrase) }
  ) { first, _ in first }
}
