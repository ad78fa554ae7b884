import CCurl

/// A result code of libcurl's easy interface. It is a struct, so that it also represents codes of newer versions.
struct CurlCode: RawRepresentable, Hashable, Sendable {
  let rawValue: UInt32

  init(rawValue: UInt32) { self.rawValue = rawValue }
  init(_ code: CURLcode) { rawValue = code.rawValue }

  static let ok = CurlCode(CURLE_OK)
  static let unsupportedProtocol = CurlCode(CURLE_UNSUPPORTED_PROTOCOL)
  static let malformedURL = CurlCode(CURLE_URL_MALFORMAT)
  static let cannotResolveProxy = CurlCode(CURLE_COULDNT_RESOLVE_PROXY)
  static let cannotResolveHost = CurlCode(CURLE_COULDNT_RESOLVE_HOST)
  static let cannotConnect = CurlCode(CURLE_COULDNT_CONNECT)
  static let weirdServerReply = CurlCode(CURLE_WEIRD_SERVER_REPLY)
  static let http2 = CurlCode(CURLE_HTTP2)
  static let partialFile = CurlCode(CURLE_PARTIAL_FILE)
  static let outOfMemory = CurlCode(CURLE_OUT_OF_MEMORY)
  static let timedOut = CurlCode(CURLE_OPERATION_TIMEDOUT)
  static let abortedByCallback = CurlCode(CURLE_ABORTED_BY_CALLBACK)
  static let sendFailedToRewind = CurlCode(CURLE_SEND_FAIL_REWIND)
  static let gotNothing = CurlCode(CURLE_GOT_NOTHING)
  static let sendError = CurlCode(CURLE_SEND_ERROR)
  static let receiveError = CurlCode(CURLE_RECV_ERROR)
  static let http2Stream = CurlCode(CURLE_HTTP2_STREAM)
  static let badFunctionArgument = CurlCode(CURLE_BAD_FUNCTION_ARGUMENT)

  static let tls: Set<CurlCode> = Set(
    [
      CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_CACERT_BADFILE,
      CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED,
    ].map(CurlCode.init))

  /// libcurl's description of the code.
  var reason: String { String(cString: curl_easy_strerror(CURLcode(rawValue))) }
}
