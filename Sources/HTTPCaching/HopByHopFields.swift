import HTTPTypes

/// Fields that concern one connection, and go no further. RFC 9110 §7.6.1.
package enum HopByHopFields {
  /// RFC 9112 §9, and those that concern a proxy.
  private static let names: Set<String> = [
    "connection", "proxy-connection", "keep-alive", "te", "transfer-encoding", "upgrade", "trailer",
    "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
  ]

  /// The names of those that these fields have, in small letters; also what `Connection` lists.
  package static func names(in fields: HTTPFields) -> Set<String> {
    var found = names
    for value in fields[values: .connection] {
      found.formUnion(value.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }).map { $0.lowercased() })
    }
    // What is meant for everybody never concerns the connection alone.
    found.remove("cache-control")
    return found
  }

  /// The other fields.
  package static func removed(from fields: HTTPFields) -> HTTPFields {
    let names = names(in: fields)
    return HTTPFields(fields.filter { !names.contains($0.name.canonicalName) })
  }
}
