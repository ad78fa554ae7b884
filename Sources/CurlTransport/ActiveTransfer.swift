import CCurl
import HTTPTransport
import HTTPTypes

/// A transfer while libcurl has it: its handle, its options and its callbacks. Lives on the curl thread.
final class ActiveTransfer {
  let transfer: Transfer
  let easy: UnsafeMutableRawPointer
  var fields: UnsafeMutablePointer<curl_slist>?
  let errorText: UnsafeMutablePointer<CChar>
  private var head: ResponseHeadParser
  var bodyBytes: Int64 = 0
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
  static let separateBody = 64 << 10

  init(
    transfer: Transfer, easy: UnsafeMutableRawPointer, configuration: CurlTransport.Configuration,
    sockets: ConnectionSockets
  ) {
    self.transfer = transfer
    self.easy = easy
    self.sockets = sockets
    head = ResponseHeadParser(isPassedOn: transfer.request.addsNothing)
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

  /// Its removal does not wait for a name's address: nobody can stop a look-up.
  func skipNameLookup() { set(CURLOPT_QUICK_EXIT, 1) }

  var url: String { transfer.request.url }
  var request: TransportRequest { transfer.request }

  // MARK: Callbacks

  /// Whether the request may go to the address it is connected to.
  func permits(_ address: String, _ port: Int, from ownPort: Int) -> Bool {
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

  func receiveHeadLine(_ bytes: UnsafeRawBufferPointer) -> Int {
    cookies?.receive(headLine: bytes)
    do {
      guard let response = try head.receive(bytes) else { return bytes.count }
      if head.isComplete, let limit = request.limits.bodyBytes, announcedLength(of: response) ?? 0 > limit {
        failure = .tooLarge(url: url, limit: limit)
        return 0
      }
      receive(response)
      return bytes.count
    } catch {
      failure = .malformed(url: url, reason: error.description)
      return 0
    }
  }

  /// Returns the bytes of the body that the head announces; `nil` if it does not say, or if there is none whatever it
  /// says. RFC 9110 §8.6.
  private func announcedLength(of response: HTTPResponse) -> Int64? {
    guard request.head.method != .head, ![204, 304].contains(response.status.code) else { return nil }
    return response.headerFields[.contentLength].flatMap { Int64($0) }
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

  func sendBody(_ room: UnsafeMutableRawBufferPointer) -> Int {
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

  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
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

  func watchSpeed(_ isWatched: Bool) {
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
}
