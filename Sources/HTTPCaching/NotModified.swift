import HTTPTypes

extension HTTPResponse {
  /// The 304 for who has what this 200 brings, by its `ETag`; nil for who has not, or has not asked. RFC 9110 §13.2.2.
  public func notModified(for request: HTTPFields) -> HTTPResponse? {
    guard status == .ok, let etag = headerFields[.eTag], request.contains(.ifNoneMatch) else { return nil }
    let tags = EntityTag.list(request[values: .ifNoneMatch])
    guard tags == ["*"] || tags.contains(where: { EntityTag.matchesWeakly($0, etag) }) else { return nil }
    let kept = headerFields.filter {
      StoredAnswer.notModifiedFields.contains($0.name) || $0.name == .age || $0.name.canonicalName == "cache-status"
    }
    return HTTPResponse(status: .notModified, headerFields: HTTPFields(kept))
  }
}
