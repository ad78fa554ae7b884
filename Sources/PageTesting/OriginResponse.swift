import HTTPTypes

/// What an origin answers when nothing goes wrong.
///
/// `Content-Length` and the connection's fields are added when it is sent.
public struct OriginResponse: Hashable, Sendable {
  public var status: HTTPResponse.Status
  public var headers: HTTPFields
  /// The body; sent neither for `HEAD` nor with a status that has none.
  public var body: [UInt8] {
    get { Array(bytes) }
    set { bytes = newValue[...] }
  }

  /// A slice, so that a range of a big file shares its memory.
  package var bytes: ArraySlice<UInt8>

  public init(
    status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], body: some Sequence<UInt8> = [UInt8]()
  ) {
    self.init(status: status, headers: headers, bytes: Array(body)[...])
  }

  package init(status: HTTPResponse.Status, headers: HTTPFields, bytes: ArraySlice<UInt8>) {
    self.status = status
    self.headers = headers
    self.bytes = bytes
  }

  /// A response that is only for people to read.
  static func plain(_ status: HTTPResponse.Status, _ text: String) -> OriginResponse {
    OriginResponse(status: status, headers: [.contentType: "text/plain; charset=utf-8"], body: text.utf8)
  }
}
