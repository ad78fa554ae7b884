import HTTPTypes

/// What a client gets of a stored response: its conditions and its range are heeded. RFC 9111 §4, §4.3.2.
public struct StoredAnswer: Equatable, Sendable {
  public enum Body: Equatable, Sendable {
    case none
    /// Positions in the stored bytes.
    case bytes(Range<Int64>)
  }

  /// With the `Age` at the time.
  public let head: HTTPResponse
  public let body: Body

  /// RFC 9110 §15.4.5: what a 304 has of the fields that a 200 would have had, and by which way it came.
  static let notModifiedFields: Set<HTTPField.Name> = [
    .cacheControl, .contentLocation, .date, .eTag, .expires, .vary, .lastModified, .via,
  ]

  public init(to request: HTTPRequest, from stored: StoredResponse, age: Int64) {
    var fields = stored.fields
    fields[.age] = String(age)
    let isSuccess = (200..<300).contains(stored.status)
    if isSuccess, Preconditions.isNotModified(request.headerFields, stored) {
      fields = HTTPFields(fields.filter { Self.notModifiedFields.contains($0.name) || $0.name == .age })
      self.init(status: 304, fields: fields, body: .none)
      return
    }
    // RFC 9110 §14.2: a range is one of what would be a 200 to GET.
    if stored.status == 200, request.method == .get, let wanted = RequestedRange(request.headerFields),
      Preconditions.rangeApplies(request.headerFields, to: stored)
    {
      if let range = stored.extent.covering(wanted) {
        self.init(part: range, of: stored, fields: fields)
        return
      }
      if case .whole(let size) = stored.extent, !wanted.isSatisfiable(in: size) {
        // Nothing else of the stored fields speaks of this answer: nobody may keep it for a lifetime.
        fields = HTTPFields(fields.filter { [.date, .age, .via].contains($0.name) })
        fields[.contentRange] = "bytes */\(size)"
        self.init(status: 416, fields: fields, body: .none)
        return
      }
    }
    // RFC 9111 §3.3: a part is never given away as though it were the whole.
    if request.method == .get, case .part(let range, _) = stored.extent, !range.isEmpty {
      self.init(part: range, of: stored, fields: fields)
      return
    }
    self.init(
      status: stored.status, fields: fields,
      body: request.method == .head ? .none : .bytes(0..<stored.extent.count))
  }

  private init(part range: Range<Int64>, of stored: StoredResponse, fields: HTTPFields) {
    var fields = fields
    fields[.contentRange] = ContentRange(range, size: stored.extent.size).description
    fields[.contentLength] = String(range.upperBound - range.lowerBound)
    self.init(status: 206, fields: fields, body: .bytes(stored.offset(of: range)))
  }

  private init(status: Int, fields: HTTPFields, body: Body) {
    head = HTTPResponse(status: .init(code: status), headerFields: fields)
    self.body = body
  }
}

extension StoredResponse {
  /// Where bytes of the representation are in what is stored.
  fileprivate func offset(of range: Range<Int64>) -> Range<Int64> {
    guard case .part(let stored, _) = extent else { return range }
    return (range.lowerBound - stored.lowerBound)..<(range.upperBound - stored.lowerBound)
  }
}
