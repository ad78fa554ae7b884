import HTTPTypes

/// One way in which an origin's answer goes wrong, or is merely unusual.
///
/// Numbers of bytes count the body, not the head and not the framing of chunks. A number beyond the body's end
/// means its end. Unless told otherwise the client's conditions and ranges are honoured first, and the fault
/// spoils what comes of them.
public indirect enum Fault: Hashable, Sendable {
  /// Nothing goes wrong.
  case normal

  // MARK: Other answers

  /// That status with a plain text, whatever was asked for.
  case status(Int, retryAfter: String? = nil, body: String = "")
  /// 200 with a page of HTML, as a captive portal or a misconfigured server sends it.
  case html(String)
  /// 200 with the normal fields and no byte of content.
  case empty
  /// 200 with the normal fields (the entity tag too) and these bytes.
  case replace([UInt8])
  /// The normal answer with one bit of this byte flipped; the length is right.
  case corrupt(byteAt: Int)
  /// A redirection to this `Location`.
  case redirect(to: String, status: Int = 302)
  /// 304, whether the client asked with a condition or not.
  case always304
  /// 200 with that `Content-Encoding` and these bytes on the wire.
  case encoded(String, [UInt8])

  // MARK: Ranges

  /// 200 with everything, although a range was asked for.
  case ignoreRange
  /// 206 with another range than the one that was asked for; it says so in `Content-Range`.
  case wrongRange
  /// 206 with an entity tag that the content does not have.
  case wrongETagOn206

  // MARK: Lengths and framing

  /// Announces that many bytes more than it sends, then closes the connection.
  case contentLengthTooLong(by: Int)
  /// Announces that many bytes less than it sends, and keeps the connection.
  case contentLengthTooShort(by: Int)
  /// The normal answer in chunks.
  case chunked
  /// The normal answer in chunks, followed by these trailer fields.
  case trailers(HTTPFields)
  /// That many bytes in chunks, then closes the connection without the last chunk.
  case cutChunked(after: Int)
  /// No length at all: the connection's end is the body's end, after that many bytes or after all of them.
  case closeDelimited(cutAfter: Int? = nil)

  // MARK: Broken connections

  /// Announces everything, sends that many bytes, then resets the connection (RST).
  case resetAfter(bytes: Int)
  /// Resets the connection without a byte.
  case resetBeforeHead
  /// Closes the connection in good order without a byte.
  case closeBeforeHead

  // MARK: Time

  /// The normal answer after that time.
  case delay(Duration, then: Fault = .normal)
  /// The head at once, the body at that speed.
  case drip(bytesPerSecond: Int)
  /// The head and that many bytes, then silence until the client or the origin closes the connection.
  case stall(afterBytes: Int)
  /// Silence from the start, until the client or the origin closes the connection.
  case stallBeforeHead

  // MARK: Not quite HTTP

  /// An interim response (such as 103) before the final one.
  case informational(Int, HTTPFields = [:], then: Fault = .normal)
  /// This text in place of the head, byte by byte, then the normal body and the connection's end.
  ///
  /// Whatever ends a head (an empty line) has to be part of it.
  case rawHead(String)
  /// Bytes that are no HTTP, then the connection's end.
  case garbage
}
