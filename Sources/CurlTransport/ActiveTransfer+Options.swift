import CCurl
import HTTPTransport
import HTTPTypes

/// The options that libcurl gets for a transfer.
extension ActiveTransfer {
  func setOptions(_ configuration: CurlTransport.Configuration) {
    let limits = request.limits
    set(CURLOPT_URL, url)
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_PATH_AS_IS, 1)
    if case .verbatim(let target) = transfer.target { set(CURLOPT_REQUEST_TARGET, target) }
    set(CURLOPT_HTTP_CONTENT_DECODING, 0)
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    set(CURLOPT_HTTP_VERSION, pk_http_version_2tls)
    // Only TLS negotiates HTTP/2 early: without it, all transfers would wait for the first one's head.
    if configuration.sharesConnections, request.head.scheme?.lowercased() == "https" { set(CURLOPT_PIPEWAIT, 1) }
    set(CURLOPT_BUFFERSIZE, 128 << 10)
    set(CURLOPT_TCP_KEEPALIVE, 1)
    set(CURLOPT_CONNECTTIMEOUT_MS, max(1, limits.connect.milliseconds))
    watchSpeed(true)
    set(CURLOPT_LOW_SPEED_TIME, max(1, limits.lowSpeedTime.milliseconds / 1000))
    // libcurl repeats a request when a reused connection closes before the head; RFC 9110 §9.2.2 forbids this for
    // methods that are not idempotent.
    let mayBeRepeated = ![.post, .patch, .connect].contains(request.head.method)
    if request.needsFreshConnection || !mayBeRepeated { set(CURLOPT_FRESH_CONNECT, 1) }
    if let file = configuration.certificateAuthorities {
      set(CURLOPT_CAINFO, file)
      // Otherwise the system's folder would be trusted beside the file.
      _ = pk_setopt_pointer(easy, CURLOPT_CAPATH, nil)
    }
    // An empty text means no proxy, whatever the environment says.
    if !configuration.usesEnvironmentProxies { set(CURLOPT_PROXY, "") }

    setMethod()
    setFields(userAgent: configuration.userAgent)
    if let signing = request.signing { set(signing) }

    let context = Unmanaged.passUnretained(self).toOpaque()
    _ = pk_setopt_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
    _ = pk_setopt_pointer(easy, CURLOPT_WRITEDATA, context)
    _ = pk_setopt_pointer(easy, CURLOPT_HEADERDATA, context)
    _ = pk_setopt_data_callback(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
      return Unmanaged<ActiveTransfer>.fromOpaque(context).takeUnretainedValue().receiveBody(buffer)
    }
    _ = pk_setopt_data_callback(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
      return Unmanaged<ActiveTransfer>.fromOpaque(context).takeUnretainedValue().receiveHeadLine(buffer)
    }
    let sockets = Unmanaged.passUnretained(sockets).toOpaque()
    _ = pk_setopt_pointer(easy, CURLOPT_SOCKOPTDATA, sockets)
    _ = pk_setopt_opened_socket(easy) { sockets, socket, _ in
      guard let sockets else { return CURL_SOCKOPT_ERROR }
      Unmanaged<ConnectionSockets>.fromOpaque(sockets).takeUnretainedValue().opened(socket)
      return CURL_SOCKOPT_OK
    }
    _ = pk_setopt_pointer(easy, CURLOPT_CLOSESOCKETDATA, sockets)
    _ = pk_setopt_close_socket(easy) { sockets, socket in
      guard let sockets else { return -1 }
      return Unmanaged<ConnectionSockets>.fromOpaque(sockets).takeUnretainedValue().close(socket)
    }
    _ = pk_setopt_pointer(easy, CURLOPT_PREREQDATA, context)
    _ = pk_setopt_prereq(easy) { context, address, _, port, ownPort in
      guard let context, let address else { return CURL_PREREQFUNC_ABORT }
      let transfer = Unmanaged<ActiveTransfer>.fromOpaque(context).takeUnretainedValue()
      return transfer.permits(String(cString: address), Int(port), from: Int(ownPort))
        ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }
  }

  func set(_ option: CURLoption, _ value: Int) { _ = pk_setopt_long(easy, option, value) }
  func set(_ option: CURLoption, _ value: String) { _ = pk_setopt_string(easy, option, value) }

  private func set(_ signing: RequestSigning) {
    set(CURLOPT_AWS_SIGV4, "aws:amz:\(signing.region):\(signing.service)")
    set(CURLOPT_USERNAME, signing.accessKey)
    set(CURLOPT_PASSWORD, signing.secretKey)
  }

  private func setMethod() {
    let method = request.head.method
    if let feed = transfer.feed { return setStream(feed) }
    switch method {
    case .get where request.body.isEmpty:
      set(CURLOPT_HTTPGET, 1)
    case .head:
      set(CURLOPT_NOBODY, 1)
    default:
      if request.body.isEmpty, ![.post, .put, .patch].contains(method) {
        set(CURLOPT_HTTPGET, 1)
      } else {
        set(CURLOPT_POST, 1)
        _ = pk_setopt_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count))
        request.body.withUnsafeBytes { body in
          // libcurl copies the bytes, and reads none if the size is zero.
          let start = UnsafeMutableRawPointer(mutating: body.baseAddress)
          _ = start.map { pk_setopt_pointer(easy, CURLOPT_COPYPOSTFIELDS, $0) }
          if start == nil { set(CURLOPT_COPYPOSTFIELDS, "") }
        }
      }
      set(CURLOPT_CUSTOMREQUEST, method.rawValue)
    }
  }

  private func setStream(_ feed: RequestFeed) {
    set(CURLOPT_UPLOAD, 1)
    set(CURLOPT_CUSTOMREQUEST, request.head.method.rawValue)
    _ = pk_setopt_offset(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(feed.stream.length ?? -1))
    _ = pk_setopt_pointer(easy, CURLOPT_READDATA, Unmanaged.passUnretained(self).toOpaque())
    _ = pk_setopt_data_callback(easy, CURLOPT_READFUNCTION) { bytes, size, count, context in
      guard let bytes, let context else { return pk_readfunc_abort }
      let room = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
      return Unmanaged<ActiveTransfer>.fromOpaque(context).takeUnretainedValue().sendBody(room)
    }
    guard feed.stream.trailers != nil else { return }
    _ = pk_setopt_pointer(easy, CURLOPT_TRAILERDATA, Unmanaged.passUnretained(self).toOpaque())
    _ = pk_setopt_trailers(easy) { list, context in
      guard let list, let context else { return CURL_TRAILERFUNC_ABORT }
      let transfer = Unmanaged<ActiveTransfer>.fromOpaque(context).takeUnretainedValue()
      for field in transfer.transfer.feed?.trailers ?? [:] {
        var line = Array("\(field.name.rawName): ".utf8)
        line.append(fieldValue: field.value, isPassedOn: transfer.request.addsNothing)
        // libcurl frees the list.
        list.pointee = curl_slist_append(list.pointee, line.map(CChar.init(bitPattern:)) + [0])
      }
      return CURL_TRAILERFUNC_OK
    }
  }

  private func setFields(userAgent: String) {
    fields = RequestLines(for: request, userAgent: userAgent).list()
    _ = pk_setopt_pointer(easy, CURLOPT_HTTPHEADER, fields)
  }
}

extension CURLcode {
  /// `true` for the codes of failed TLS.
  var isOfTLS: Bool {
    [
      CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_CACERT_BADFILE,
      CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
      CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED,
    ].contains(self)
  }
}
