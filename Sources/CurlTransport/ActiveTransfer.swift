import CCurl
import HTTPTypes
import PageCore

/// A transfer while libcurl has it: its handle, its options and its callbacks. Lives on the curl thread.
final class ActiveTransfer {
  let transfer: Transfer
  let easy: UnsafeMutableRawPointer
  private var fields: UnsafeMutablePointer<curl_slist>?
  private let errorText: UnsafeMutablePointer<CChar>
  private var head = ResponseHeadParser()
  private var bodyBytes: Int64 = 0
  private var failure: TransportError?
  private var cookies: TransferCookies?
  private let sockets: ConnectionSockets
  private let refusal: (@Sendable (String, String, Int) -> String?)?
  /// Whether libcurl holds bytes back that the reader has no room for.
  private(set) var isPaused = false
  /// Whether libcurl waits for the request's body.
  private var isSendingPaused = false
  /// Whether the connection was found to be unfit before anything was sent on it.
  private(set) var wantsOtherConnection = false
  private var hasOtherConnection = false
  /// When the total limit is used up.
  let deadline: ContinuousClock.Instant?

  /// From this many bytes on libcurl sends a body apart from its head.
  private static let separateBody = 64 << 10

  init(
    transfer: Transfer, easy: UnsafeMutableRawPointer, configuration: CurlTransport.Configuration,
    sockets: ConnectionSockets
  ) {
    self.transfer = transfer
    self.easy = easy
    self.sockets = sockets
    deadline = transfer.request.limits.total.map { transfer.began + $0 }
    refusal = configuration.refusal
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    setOptions(configuration)
    cookies = TransferCookies(request: transfer.request, easy: easy)
  }

  deinit {
    curl_slist_free_all(fields)
    errorText.deallocate()
  }

  /// Whether the handle belongs to a jar, which no later transfer must find there.
  var hasJar: Bool { cookies != nil }

  private var url: String { transfer.request.url }
  private var request: TransportRequest { transfer.request }

  // MARK: Options

  private func setOptions(_ configuration: CurlTransport.Configuration) {
    let limits = request.limits
    set(CURLOPT_URL, url)
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_NOSIGNAL, 1)
    set(CURLOPT_FOLLOWLOCATION, 0)
    set(CURLOPT_PATH_AS_IS, 1)
    if case .verbatim(let target) = RequestTarget(of: request) { set(CURLOPT_REQUEST_TARGET, target) }
    set(CURLOPT_HTTP_CONTENT_DECODING, 0)
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    set(CURLOPT_HTTP_VERSION, pk_http_version_2tls)
    // Only TLS tells early whether it is HTTP/2: without it, all would wait for the first one's head.
    if configuration.sharesConnections, request.head.scheme?.lowercased() == "https" { set(CURLOPT_PIPEWAIT, 1) }
    set(CURLOPT_BUFFERSIZE, 128 << 10)
    set(CURLOPT_TCP_KEEPALIVE, 1)
    set(CURLOPT_CONNECTTIMEOUT_MS, max(1, limits.connect.milliseconds))
    watchSpeed(true)
    set(CURLOPT_LOW_SPEED_TIME, max(1, limits.lowSpeedTime.milliseconds / 1000))
    // libcurl sends a request once more when a reused connection closes before the head; RFC 9110 §9.2.2 forbids that
    // for methods that are not idempotent.
    let mayBeRepeated = ![.post, .patch, .connect].contains(request.head.method)
    if request.needsFreshConnection || !mayBeRepeated { set(CURLOPT_FRESH_CONNECT, 1) }
    if let file = configuration.certificateAuthorities { set(CURLOPT_CAINFO, file) }
    // Empty: none, whatever the environment says.
    if !configuration.usesEnvironmentProxies { set(CURLOPT_PROXY, "") }

    setMethod()
    setFields(userAgent: configuration.userAgent)

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
    _ = pk_setopt_pointer(easy, CURLOPT_PREREQDATA, context)
    _ = pk_setopt_prereq(easy) { context, address, _, port, ownPort in
      guard let context, let address else { return CURL_PREREQFUNC_ABORT }
      let transfer = Unmanaged<ActiveTransfer>.fromOpaque(context).takeUnretainedValue()
      return transfer.permits(String(cString: address), Int(port), from: Int(ownPort))
        ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }
  }

  private func set(_ option: CURLoption, _ value: Int) { _ = pk_setopt_long(easy, option, value) }
  private func set(_ option: CURLoption, _ value: String) { _ = pk_setopt_string(easy, option, value) }

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
          // libcurl copies the bytes, and reads none where the size is zero.
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
        // libcurl frees the list.
        list.pointee = curl_slist_append(list.pointee, "\(field.name.rawName): \(field.value)".fieldBytes)
      }
      return CURL_TRAILERFUNC_OK
    }
  }

  private func setFields(userAgent: String) {
    for line in RequestLines.lines(for: request, userAgent: userAgent) {
      fields = curl_slist_append(fields, line.fieldBytes) ?? fields
    }
    _ = pk_setopt_pointer(easy, CURLOPT_HTTPHEADER, fields)
  }

  // MARK: Callbacks

  /// Whether the request may go to the address it is connected to.
  private func permits(_ address: String, _ port: Int, from ownPort: Int) -> Bool {
    if !hasOtherConnection, sockets.hasUnaskedBytes(onPort: ownPort) {
      wantsOtherConnection = true
      set(CURLOPT_FORBID_REUSE, 1)
      return false
    }
    // libcurl begins once more where a connection breaks before the head, or a server refuses a stream.
    if transfer.feed?.stream.isTaken == true {
      failure = .closedEarly(url: url, received: 0, reason: "the request's body cannot be sent a second time")
      return false
    }
    guard let reason = refusal?(HostText.host(of: request.head.authority ?? ""), address, port) else { return true }
    failure = .notPermitted(url: url, address: address, reason: reason)
    return false
  }

  private func receiveHeadLine(_ bytes: UnsafeRawBufferPointer) -> Int {
    cookies?.receive(headLine: bytes)
    do {
      if let response = try head.receive(bytes) { receive(response) }
      return bytes.count
    } catch {
      failure = .malformed(url: url, reason: error.description)
      return 0
    }
  }

  private func receive(_ response: HTTPResponse) {
    guard head.isComplete else {
      request.informational?(response)
      return
    }
    // libcurl sends no more of a body to who has refused it, but would wait for it to go on.
    if response.status.code >= 300, let feed = transfer.feed {
      feed.stop()
      transfer.postSendOn()
    }
    transfer.receive(response, version: head.version)
  }

  private func sendBody(_ room: UnsafeMutableRawBufferPointer) -> Int {
    guard let feed = transfer.feed else { return 0 }
    transfer.startFeed()
    switch feed.take(into: room) {
    case .bytes(let count): return count
    case .end: return 0
    case .failed:
      // libcurl is done with the connection before it says that the transfer has ended.
      prepareRemoval()
      return pk_readfunc_abort
    case .nothingYet:
      isSendingPaused = true
      // It is not the server that is slow.
      watchSpeed(false)
      return pk_readfunc_pause
    }
  }

  private func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
    if let limit = request.limits.bodyBytes, bodyBytes + Int64(bytes.count) > limit {
      failure = .tooLarge(url: url, limit: limit)
      return 0
    }
    guard transfer.receive(bytes) else {
      isPaused = true
      return pk_writefunc_pause
    }
    bodyBytes += Int64(bytes.count)
    return bytes.count
  }

  /// Hands over what libcurl holds back, and lets more come.
  func resume() -> CurlCode {
    isPaused = false
    return unpause()
  }

  /// Asks for more of the request's body.
  func sendOn() -> CurlCode {
    guard transfer.feed?.failure == nil else { return .abortedByCallback }
    guard isSendingPaused else { return .ok }
    isSendingPaused = false
    watchSpeed(true)
    return unpause()
  }

  private func unpause() -> CurlCode {
    let sides = (isPaused ? CURLPAUSE_RECV : 0) | (isSendingPaused ? CURLPAUSE_SEND : 0)
    return CurlCode(curl_easy_pause(easy, sides))
  }

  private func watchSpeed(_ isWatched: Bool) {
    set(CURLOPT_LOW_SPEED_LIMIT, isWatched ? request.limits.lowSpeedBytesPerSecond : 0)
  }

  // MARK: End

  /// Makes the handle ready to begin once more, on a new connection. Nothing was sent on the other.
  func prepareOtherConnection() {
    (wantsOtherConnection, hasOtherConnection) = (false, true)
    set(CURLOPT_FORBID_REUSE, 0)
    set(CURLOPT_FRESH_CONNECT, 1)
  }

  /// The total limit is used up.
  func timeOut() {
    failure = .timedOut(url: url, after: request.limits.total ?? .zero)
    complete(.timedOut)
  }

  func complete(_ code: CurlCode) {
    sockets.note(easy)
    cookies?.publish()
    transfer.record(TransferSummary(timings: timings(), trailers: head.trailers.fields))
    if let fault = transfer.feed?.failure {
      failure = .requestBody(url: url, reason: "\(fault)")
    }
    if code == .ok, failure == nil, head.isComplete {
      transfer.finish(.success(()))
    } else {
      transfer.finish(.failure(failure ?? error(for: code)))
    }
  }

  /// Nothing may be left of a body that was not sent whole, neither here nor at the server.
  func prepareRemoval() {
    // Otherwise libcurl 7.88 tells a server of HTTP/2 only when it next uses the connection. One that others use stays.
    if transfer.feed?.failure != nil { set(CURLOPT_FORBID_REUSE, 1) }
  }

  private func error(for code: CurlCode) -> TransportError {
    let text = String(cString: errorText)
    let reason = text.isEmpty ? code.reason : text
    switch code {
    case .ok:
      // libcurl 7.88 takes a head that ends after a whole line, but without the empty one, for an answer.
      return .closedEarly(url: url, received: 0, reason: "the connection ended in the head")
    case .malformedURL:
      return .invalidURL(url)
    case .unsupportedProtocol where timings().firstByte == .zero:
      return .invalidURL(url)
    case .unsupportedProtocol where timings().reusedConnection:
      // libcurl 7.88 does not look whether a former answer had more bytes than it announced.
      return .closedEarly(url: url, received: 0, reason: "a former answer on the connection was longer than announced")
    case .cannotResolveHost, .cannotResolveProxy:
      return .cannotResolve(url: url, reason: reason)
    case .cannotConnect:
      return .cannotConnect(url: url, reason: reason)
    case .timedOut:
      let limits = request.limits
      if reason.hasPrefix("Operation too slow") {
        return .tooSlow(url: url, bytesPerSecond: limits.lowSpeedBytesPerSecond, over: limits.lowSpeedTime)
      }
      return .timedOut(url: url, after: limits.connect)
    case .partialFile, .gotNothing, .receiveError, .sendError, .http2, .http2Stream, .sendFailedToRewind:
      return .closedEarly(url: url, received: bodyBytes, reason: reason)
    case .weirdServerReply, .unsupportedProtocol:
      return .malformed(url: url, reason: reason)
    case .outOfMemory where timings().firstByte > .zero:
      // libcurl 7.88 has no other word for a line of the head over its limit of 100 KB.
      return .malformed(url: url, reason: "a line of its head is too long")
    case _ where CurlCode.tls.contains(code):
      return .insecure(url: url, reason: reason)
    default:
      return .failed(url: url, code: Int(code.rawValue), reason: reason)
    }
  }

  private func timings() -> TransferTimings {
    var timings = TransferTimings()
    timings.nameLookup = microseconds(CURLINFO_NAMELOOKUP_TIME_T)
    timings.connected = microseconds(CURLINFO_CONNECT_TIME_T)
    timings.secured = microseconds(CURLINFO_APPCONNECT_TIME_T)
    timings.firstByte = microseconds(CURLINFO_STARTTRANSFER_TIME_T)
    timings.total = microseconds(CURLINFO_TOTAL_TIME_T)
    timings.bytesReceived = offset(CURLINFO_SIZE_DOWNLOAD_T) + Int64(long(CURLINFO_HEADER_SIZE))
    timings.reusedConnection = long(CURLINFO_NUM_CONNECTS) == 0
    switch long(CURLINFO_HTTP_VERSION) {
    case 1: timings.httpVersion = "1.0"
    case 2: timings.httpVersion = "1.1"
    case 3: timings.httpVersion = "2"
    default: timings.httpVersion = nil
    }
    timings.bytesSent = Int64(long(CURLINFO_REQUEST_SIZE))
    // With HTTP/1 libcurl sends a small body along with the head, and counts it in both.
    if timings.httpVersion == "2" || transfer.feed != nil || request.body.count >= Self.separateBody {
      timings.bytesSent += offset(CURLINFO_SIZE_UPLOAD_T)
    }
    return timings
  }

  private func microseconds(_ info: CURLINFO) -> Duration { .microseconds(offset(info)) }

  private func offset(_ info: CURLINFO) -> Int64 {
    var value: curl_off_t = 0
    _ = pk_getinfo_offset(easy, info, &value)
    return Int64(value)
  }

  private func long(_ info: CURLINFO) -> Int {
    var value = 0
    _ = pk_getinfo_long(easy, info, &value)
    return value
  }
}

extension Duration {
  var milliseconds: Int {
    Int(clamping: components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000)
  }
}
