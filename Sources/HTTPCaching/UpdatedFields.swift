import HTTPTypes

/// Stored fields brought up to date by a newer head of the same content. RFC 9111 §3.2.
enum UpdatedFields {
  /// What the stored bytes depend on.
  private static let bound: Set<HTTPField.Name> = [.contentLength, .contentEncoding, .contentRange]

  static func of(_ stored: HTTPFields, by new: HTTPFields, at now: HTTPDate, policy: CachePolicy) -> HTTPFields {
    let storable = StoredFields.of(new, policy: policy, received: now)
    let replaced = Set(storable.map(\.name)).subtracting(bound)
    var result = HTTPFields()
    // How old it was on its way the last time says nothing of now.
    for field in stored where !replaced.contains(field.name) && field.name != .age { result.append(field) }
    for field in storable where !bound.contains(field.name) { result.append(field) }
    // A cookie that comes with a confirmation is for one client, what is stored is for all.
    if !policy.mayKeepCookies { result[values: .setCookie] = [] }
    // Whichever of the two says that some fields may not be used again says so of both.
    return StoredFields.restricted(result, policy: policy)
  }
}
