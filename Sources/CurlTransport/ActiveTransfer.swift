import CCurl
import Foundation
import HTTPTransport
import HTTPTypes

/// A transfer that libcurl is performing: its handle, options and callbacks. Lives on the curl thread.
final class ActiveTransfer {
  let transfer: Transfer
  let easy: UnsafeMutableRawPointer
  /// The request's lines, which libcurl reads and does not free.
  var fields: UnsafeMutablePointer<curl_slist>?
  let errorText: UnsafeMutablePointer<CChar>
  private var head: ResponseHeadParser
  /// The body's length, as its head announces it.
  private var announced: Int64?
  var bodyBytes: Int64 = 0
  private var failure: TransportError?
  private var cookies: TransferCookies?
  let sockets: ConnectionSockets
  private let readers: PendingReaders
  private let refusal: (@Sendable (String, String, Int) -> String?)?
  /// `true` if libcurl holds bytes because the reader has no room.
  private(set) var isPaused = false
  /// `true` if libcurl waits for bytes of the request's body.
  private var isSendingPaused = false
  /// `true` if the connection turned out to be unusable before anything was sent on it.
  private(set) var wantsOtherConnection = false
  private var hasOtherConnection = false
  /// The time at which the total time limit is exceeded.
  let deadline: ContinuousClock.Instant?

  /// The size from which libcurl sends a body separately from its head, in bytes.
  static let separateBody = 64 << 10

  init(
    transfer: Transfer, easy: UnsafeMutableRawPointer, configuration: CurlTransport.Configuration,
    sockets: ConnectionSockets, readers: PendingReaders
  ) {
    self.transfer = transfer
    self.easy = easy
    self.sockets = sockets
    self.readers = readers
    head = ResponseHeadParser(isPassedOn: transfer.request.addsNothing)
    deadline = transfer.request.limits.total.map { transfer.began + $0 }
    refusal = configuration.refusal
    errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    setOptions(configuration)
    cookies = TransferCookies(request: transfer.request, easy: easy)
  }

  deinit {
    fields?.deallocate()
    errorText.deallocate()
  }

  /// `true` if the handle is attached to a jar, so that no other transfer may use it.
  var hasJar: Bool { cookies != nil }

  /// Makes the handle's removal skip a running name lookup, which cannot be stopped.
  func skipNameLookup() { set(CURLOPT_QUICK_EXIT, 1) }

  var url: String { transfer.request.url }
  var request: TransportRequest { transfer.request }

  // MARK: Callbacks

  /// Returns `true` if the request may be sent on its connection.
  func permits(_ address: String, _ port: Int, from ownPort: Int) -> Bool {
    if !hasOtherConnection, sockets.hasUnaskedBytes(on: .init(address: address, port: port, ownPort: ownPort)) {
      wantsOtherConnection = true
      set(CURLOPT_FORBID_REUSE, 1)
      return false
    }
    // libcurl starts again if a connection breaks before the head, or a server refuses a stream.
    if transfer.feed?.stream.isUsed == true {
      failure = .closedEarly(url: url, received: 0, reason: "the request's body cannot be sent a second time")
      return false
    }
    guard let reason = refusal?((request.head.authority ?? "").hostOfAuthority, address, port) else { return true }
    failure = .notPermitted(url: url, address: address, reason: reason)
    return false
  }

  func receiveHeadLine(_ bytes: UnsafeRawBufferPointer) -> Int {
    cookies?.receive(headLine: bytes)
    do {
      guard let response = try head.receive(bytes) else { return bytes.count }
      if head.isComplete {
        announced = announcedLength(of: response)
        if let limit = request.limits.bodyBytes, announced ?? 0 > limit {
          failure = .tooLarge(url: url, limit: limit)
          return 0
        }
      }
      receive(response)
      return bytes.count
    } catch {
      failure = .malformed(url: url, reason: error.description)
      return 0
    }
  }

  /// Returns the body's length as announced in the head; `nil` if it is missing, or if there is no body in any case.
  /// RFC 9110 §8.6.
  private func announcedLength(of response: HTTPResponse) -> Int64? {
    guard request.head.method != .head, ![204, 304].contains(response.status.code) else { return nil }
    return response.headerFields[.contentLength].flatMap { Int64($0) }
  }

  private func receive(_ response: HTTPResponse) {
    guard head.isComplete else {
      request.informational?(response)
      return
    }
    // libcurl stops sending a body after such a response, but would wait for its producer.
    if response.status.code >= 300, let feed = transfer.feed {
      feed.stop()
      transfer.postSendOn()
    }
    transfer.receive(response, version: head.version)
    readers.add(transfer)
  }

  func sendBody(_ room: UnsafeMutableRawBufferPointer) -> Int {
    guard let feed = transfer.feed else { return 0 }
    transfer.startFeed()
    switch feed.read(into: room) {
    case .bytes(let count): return count
    case .end: return 0
    case .failed:
      // libcurl releases the connection before it reports the transfer's end.
      prepareRemoval()
      return pk_readfunc_abort
    case .nothingYet:
      isSendingPaused = true
      // The producer is slow, not the server.
      watchSpeed(false)
      return pk_readfunc_pause
    }
  }

  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
    if let limit = request.limits.bodyBytes, bodyBytes + Int64(bytes.count) > limit {
      failure = .tooLarge(url: url, limit: limit)
      return 0
    }
    // Also if they have no room: the reader may take those before.
    readers.add(transfer)
    guard transfer.receive(bytes, left: announced.map { $0 &- bodyBytes }) else {
      isPaused = true
      return pk_writefunc_pause
    }
    bodyBytes += Int64(bytes.count)
    return bytes.count
  }

  /// Receives the bytes that libcurl holds, and continues.
  func resume() -> CURLcode {
    isPaused = false
    return unpause()
  }

  /// Continues to send the request's body.
  func sendOn() -> CURLcode {
    guard transfer.feed?.failure == nil else { return CURLE_ABORTED_BY_CALLBACK }
    guard isSendingPaused else { return CURLE_OK }
    isSendingPaused = false
    watchSpeed(true)
    return unpause()
  }

  private func unpause() -> CURLcode {
    let sides = (isPaused ? CURLPAUSE_RECV : 0) | (isSendingPaused ? CURLPAUSE_SEND : 0)
    return curl_easy_pause(easy, sides)
  }

  func watchSpeed(_ isWatched: Bool) {
    set(CURLOPT_LOW_SPEED_LIMIT, isWatched ? request.limits.lowSpeedBytesPerSecond : 0)
  }

  // MARK: End

  /// Prepares the handle to start again on a new connection. Nothing was sent on the other one.
  func prepareOtherConnection() {
    (wantsOtherConnection, hasOtherConnection) = (false, true)
    set(CURLOPT_FORBID_REUSE, 0)
    set(CURLOPT_FRESH_CONNECT, 1)
  }

  /// Ends the transfer, since its total time limit is exceeded.
  func timeOut() {
    failure = .timedOut(url: url, after: request.limits.total ?? .zero)
    complete(CURLE_OPERATION_TIMEDOUT)
  }

  func complete(_ code: CURLcode) {
    sockets.record(easy)
    cookies?.publish()
    transfer.record(summary())
    if let fault = transfer.feed?.failure {
      failure = .requestBody(url: url, reason: "\(fault)")
    }
    if code == CURLE_OK, failure == nil, head.isComplete {
      transfer.finish(.success(()))
    } else {
      transfer.finish(.failure(failure ?? error(for: code)))
    }
  }

  /// Prevents the reuse of the connection if the request's body was not sent completely.
  func prepareRemoval() {
    // Otherwise libcurl 7.88 informs an HTTP/2 server only when it uses the connection again. A connection that other
    // transfers use stays open.
    if transfer.feed?.failure != nil { set(CURLOPT_FORBID_REUSE, 1) }
  }
}

/// The results that libcurl reports at a transfer's end.
extension ActiveTransfer {
  func error(for code: CURLcode) -> TransportError {
    let text = String(cString: errorText)
    let reason = text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
    switch code {
    case CURLE_OK:
      // libcurl 7.88 accepts a head that ends after a complete line, without the empty one.
      return .closedEarly(url: url, received: 0, reason: "the connection ended in the head")
    case CURLE_URL_MALFORMAT:
      return .invalidURL(url)
    case CURLE_UNSUPPORTED_PROTOCOL where summary().firstByte == .zero:
      return .invalidURL(url)
    case CURLE_UNSUPPORTED_PROTOCOL where summary().reusedConnection:
      // libcurl 7.88 does not check whether an earlier response had more bytes than it announced.
      return .closedEarly(url: url, received: 0, reason: "a former answer on the connection was longer than announced")
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
      return .cannotResolve(url: url, reason: reason)
    case CURLE_COULDNT_CONNECT:
      let system = Int32(clamping: long(CURLINFO_OS_ERRNO))
      // libcurl's text says once more that it could not connect. Its duration is removed, so that equal failures have
      // equal errors.
      let text = reason.replacing(/\ after \d+ ms/, with: "").replacing(/:\ Couldn.t connect to server$/, with: "")
      return .cannotConnect(url: url, reason: system > 0 ? String(cString: strerror(system)) : text)
    case CURLE_OPERATION_TIMEDOUT:
      let limits = request.limits
      if reason.hasPrefix("Operation too slow") {
        return .tooSlow(url: url, bytesPerSecond: limits.lowSpeedBytesPerSecond, over: limits.lowSpeedTime)
      }
      return .timedOut(url: url, after: limits.connect)
    case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM,
      CURLE_SEND_FAIL_REWIND:
      return .closedEarly(url: url, received: bodyBytes, reason: reason)
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
      return .malformed(url: url, reason: reason)
    case CURLE_OUT_OF_MEMORY where summary().firstByte > .zero:
      // libcurl 7.88 uses this code for a line of the head over its limit of 100 KB.
      return .malformed(url: url, reason: "a line of its head is too long")
    case CURLE_BAD_FUNCTION_ARGUMENT where summary().firstByte > .zero:
      // libcurl 7.88 uses this code for lines of heads, chunks and trailers that it cannot read.
      return .malformed(url: url, reason: "a line of its head or of its chunks cannot be read")
    case _ where code.isOfTLS:
      return .insecure(url: url, reason: reason)
    default:
      return .failed(url: url, code: Int(code.rawValue), reason: reason)
    }
  }

  func summary() -> TransferSummary {
    var summary = TransferSummary()
    summary.nameLookup = microseconds(CURLINFO_NAMELOOKUP_TIME_T)
    summary.connected = microseconds(CURLINFO_CONNECT_TIME_T)
    summary.secured = microseconds(CURLINFO_APPCONNECT_TIME_T)
    summary.firstByte = microseconds(CURLINFO_STARTTRANSFER_TIME_T)
    summary.total = microseconds(CURLINFO_TOTAL_TIME_T)
    summary.bytesReceived = offset(CURLINFO_SIZE_DOWNLOAD_T) + Int64(long(CURLINFO_HEADER_SIZE))
    summary.reusedConnection = long(CURLINFO_NUM_CONNECTS) == 0
    switch long(CURLINFO_HTTP_VERSION) {
    case 1: summary.httpVersion = "1.0"
    case 2: summary.httpVersion = "1.1"
    case 3: summary.httpVersion = "2"
    default: summary.httpVersion = nil
    }
    summary.bytesSent = Int64(long(CURLINFO_REQUEST_SIZE))
    // With HTTP/1 libcurl sends a small body together with the head, and counts it in both.
    if summary.httpVersion == "2" || transfer.feed != nil || request.body.count >= Self.separateBody {
      summary.bytesSent += offset(CURLINFO_SIZE_UPLOAD_T)
    }
    summary.trailers = head.trailers.fields
    return summary
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
