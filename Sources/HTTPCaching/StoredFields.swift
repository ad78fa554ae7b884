import HTTPTypes

/// Which fields of a response are kept. RFC 9111 §3.1.
enum StoredFields {
  static func of(_ fields: HTTPFields, policy: CachePolicy, received: HTTPDate) -> HTTPFields {
    // RFC 9110 §7.6.1: what is meant for everybody never concerns the connection alone.
    let left = HopByHopFields.names(in: fields).subtracting(policy.targets.map(\.canonicalName))
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
