import HTTPCaching
import HTTPTransport

/// Bytes on their way into the store. Used by one task at a time.
///
/// What is kept for a later attempt are the wire bytes as the server sent them, with the head they came with; where
/// they are encoded, the decoded content is written beside them. Nothing in here is trusted before it was digested.
public protocol BundleDownload: AnyObject, Sendable {
  /// What a former attempt left: its head, and how many wire bytes there are.
  var held: (head: DownloadHead, wireBytes: Int64)? { get }

  /// Hands over the held wire bytes, piece by piece.
  func readHeld(_ body: ([UInt8]) throws -> Void) throws

  /// Begins with the bytes of a new answer; what was held is dropped.
  func begin(_ head: DownloadHead) throws

  /// Goes on after the held wire bytes; decoded content is written anew.
  func resume() throws

  func append(wire: [UInt8]) throws

  /// Only where the head has an encoding.
  func append(content: [UInt8]) throws

  /// Drops everything: it is not what was expected.
  func discard()

  /// Lets go of it; what there is stays for a later attempt.
  func close()
}

/// The head that wire bytes came with.
public struct DownloadHead: Hashable, Sendable, Codable {
  public var url: PageURL
  public var etag: String?
  public var lastModified: String?
  /// `Content-Encoding`; nil for none.
  public var encoding: String?
  /// Wire bytes in all, where the server told.
  public var wireSize: Int64?

  public init(
    url: PageURL, etag: String? = nil, lastModified: String? = nil, encoding: String? = nil, wireSize: Int64? = nil
  ) {
    self.url = url
    self.etag = etag
    self.lastModified = lastModified
    self.encoding = encoding
    self.wireSize = wireSize
  }

  public var validators: Validators { Validators(etag: etag, lastModified: lastModified) }
}
