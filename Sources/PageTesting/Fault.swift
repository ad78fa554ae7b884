import HTTPTypes

/// A fault or a peculiarity of an origin's response.
///
/// Numbers of bytes count the body, without the head and the framing of chunks. A number beyond the end of the body
/// means its end. Unless stated otherwise, the origin first evaluates the client's conditions and ranges, and the fault
/// changes the resulting response.
public indirect enum Fault: Hashable, Sendable {
  /// The normal response.
  case normal

  // MARK: Other responses

  /// This status with a plain text, for every request.
  case status(Int, retryAfter: String? = nil, body: String = "")
  /// 200 with a page of HTML, as from a captive portal or a misconfigured server.
  case html(String)
  /// 200 with the normal fields and an empty body.
  case empty
  /// 200 with the normal fields, with the entity tag, and these bytes.
  case replace([UInt8])
  /// The normal response with one bit of this byte flipped, and the correct length.
  case corrupt(byteAt: Int)
  /// A redirection to this `Location`.
  case redirect(to: String, status: Int = 302)
  /// 304, with and without a condition in the request.
  case always304
  /// 200 with this `Content-Encoding` and these encoded bytes.
  case encoded(String, [UInt8])

  // MARK: Ranges

  /// 200 with the whole body in response to a range request.
  case ignoreRange
  /// 206 with another range than the requested one, and a `Content-Range` that is true of it.
  case wrongRange
  /// 206 with an entity tag of other content.
  case wrongETagOn206

  // MARK: Lengths and framing

  /// A `Content-Length` that exceeds the body by this number of bytes, then the end of the connection.
  case contentLengthTooLong(by: Int)
  /// A `Content-Length` that is this number of bytes too small, on a connection that stays open.
  case contentLengthTooShort(by: Int)
  /// The normal response in chunks.
  case chunked
  /// The normal response in chunks, with these trailer fields.
  case trailers(HTTPFields)
  /// This number of bytes in chunks, then the end of the connection without the last chunk.
  case cutChunked(after: Int)
  /// No length: the end of the connection is the end of the body, after this number of bytes or after all.
  case closeDelimited(cutAfter: Int? = nil)

  // MARK: Broken connections

  /// The whole length in the head, this number of bytes, then a reset of the connection (RST).
  case resetAfter(bytes: Int)
  /// A reset of the connection before the first byte.
  case resetBeforeHead
  /// An orderly end of the connection before the first byte.
  case closeBeforeHead

  // MARK: Time

  /// Another fault, or the normal response, after this time.
  case delay(Duration, then: Fault = .normal)
  /// The head at once, and the body at this speed.
  case drip(bytesPerSecond: Int)
  /// The head and this number of bytes, then silence until the client or the origin closes the connection.
  case stall(afterBytes: Int)
  /// Silence until the client or the origin closes the connection.
  case stallBeforeHead

  // MARK: Interim responses and malformed heads

  /// An interim response (such as 103) before the final one.
  case informational(Int, HTTPFields = [:], then: Fault = .normal)
  /// This text in place of the head, with the empty line that ends it, then the normal body and the end of the
  /// connection.
  case rawHead(String)
  /// Bytes that are not HTTP, then the end of the connection.
  case garbage
}
