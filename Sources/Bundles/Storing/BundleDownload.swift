import HTTPCaching
import HTTPTransport

/// A download into the store. Used by one task at a time.
///
/// The wire bytes and their head are kept for a later attempt; if they are encoded, the decoded content is written to a
/// second file. No bytes are trusted before they were digested.
package protocol BundleDownload: AnyObject, Sendable {
  /// The head and the number of wire bytes of an earlier attempt; `nil` if there was none.
  var held: (head: DownloadHead, wireBytes: Int64)? { get }

  /// Passes the held wire bytes to `body`, piece by piece.
  func readHeld(_ body: ([UInt8]) throws -> Void) throws

  /// Begins a new download; the held bytes are dropped.
  func begin(_ head: DownloadHead) throws

  /// Continues after the held wire bytes; the decoded content is written again from its beginning.
  func resume() throws

  func append(wire: [UInt8]) throws

  /// Appends decoded content; used only if the head has an encoding.
  func append(content: [UInt8]) throws

  /// Drops all bytes, since they do not have the expected digests.
  func discard()

  /// Ends the use of the download; its bytes stay for a later attempt.
  func close()
}

/// The fields of a response's head that a download needs.
package struct DownloadHead: Hashable, Sendable, Codable {
  package var url: PageURL
  package var etag: String?
  package var lastModified: String?
  /// The value of `Content-Encoding`; `nil` if there is none.
  package var encoding: String?
  /// The wire bytes of the whole content, if the server gave them.
  package var wireSize: Int64?
  /// The dictionary that decodes the content; `nil` if none is needed.
  package var dictionary: SHA256Digest?

  package init(
    url: PageURL, etag: String? = nil, lastModified: String? = nil, encoding: String? = nil, wireSize: Int64? = nil,
    dictionary: SHA256Digest? = nil
  ) {
    self.url = url
    self.etag = etag
    self.lastModified = lastModified
    self.encoding = encoding
    self.wireSize = wireSize
    self.dictionary = dictionary
  }

  package var validators: Validators { Validators(etag: etag, lastModified: lastModified) }
}
