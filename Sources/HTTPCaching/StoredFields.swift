import HTTPTypes

/// Which fields of a response are kept. RFC 9111 §3.1.
enum StoredFields {
  /// RFC 9110 §7.6.1, RFC 9112 §9, and those that concern a proxy.
  private static let hopByHop: Set<String> = [
    "connection", "proxy-connection", "keep-alive", "te", "transfer-encoding", "upgrade", "trailer",
    "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
  ]

  static func of(_ fields: HTTPFields, policy: CachePolicy, received: HTTPDate) -> HTTPFields {
    var left = hopByHop
    for value in fields[values: .connection] {
      left.formUnion(value.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }).map { $0.lowercased() })
    }
    // RFC 9110 §7.6.1: what is meant for everybody never concerns the connection alone.
    left.subtract(["cache-control"] + policy.targets.map(\.canonicalName))
    var kept = HTTPFields()
    for field in restricted(fields, policy: policy) where !left.contains(field.name.canonicalName) {
      kept.append(field)
    }
    // RFC 9110 §6.6.1: what comes without a date gets that of its arrival.
    if !kept.contains(.date) { kept[.date] = received.description }
    return kept
  }

  /// Without the fields that may not be used again without asking: they are not kept in the first place.
  /// RFC 9111 §5.2.2.4, §5.2.2.7.
  static func restricted(_ fields: HTTPFields, policy: CachePolicy) -> HTTPFields {
    let control = ResponseControl(of: fields, policy: policy).directives
    var left: Set<String> = []
    if case .fields(let names) = control.noCache { left.formUnion(names) }
    if policy.mode == .shared, case .fields(let names) = control.isPrivate { left.formUnion(names) }
    return left.isEmpty ? fields : HTTPFields(fields.filter { !left.contains($0.name.canonicalName) })
  }
}
