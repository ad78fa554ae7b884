import CCurl
import Foundation
import HTTPTransport
import HTTPTypes

/// The results that libcurl reports at a transfer's end.
extension ActiveTransfer {
  func error(for code: CurlCode) -> TransportError {
    let text = String(cString: errorText)
    let reason = text.isEmpty ? code.reason : text
    switch code {
    case .ok:
      // libcurl 7.88 accepts a head that ends after a complete line, without the empty one.
      return .closedEarly(url: url, received: 0, reason: "the connection ended in the head")
    case .malformedURL:
      return .invalidURL(url)
    case .unsupportedProtocol where timings().firstByte == .zero:
      return .invalidURL(url)
    case .unsupportedProtocol where timings().reusedConnection:
      // libcurl 7.88 does not check whether an earlier response had more bytes than it announced.
      return .closedEarly(url: url, received: 0, reason: "a former answer on the connection was longer than announced")
    case .cannotResolveHost, .cannotResolveProxy:
      return .cannotResolve(url: url, reason: reason)
    case .cannotConnect:
      let system = Int32(clamping: long(CURLINFO_OS_ERRNO))
      // The text of libcurl says once more that it could not connect. Its duration is removed, so that equal failures have
      // equal errors.
      let text = reason.replacing(/\ after \d+ ms/, with: "").replacing(/:\ Couldn.t connect to server$/, with: "")
      return .cannotConnect(url: url, reason: system > 0 ? String(cString: strerror(system)) : text)
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
      // libcurl 7.88 uses this code for a line of the head over its limit of 100 KB.
      return .malformed(url: url, reason: "a line of its head is too long")
    case .badFunctionArgument where timings().firstByte > .zero:
      // libcurl 7.88 uses this code for lines of heads, chunks and trailers that it cannot read.
      return .malformed(url: url, reason: "a line of its head or of its chunks cannot be read")
    case _ where CurlCode.tls.contains(code):
      return .insecure(url: url, reason: reason)
    default:
      return .failed(url: url, code: Int(code.rawValue), reason: reason)
    }
  }

  func timings() -> TransferTimings {
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
    // With HTTP/1 libcurl sends a small body together with the head, and counts it in both.
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
