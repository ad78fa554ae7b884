import HTTPTypes

/// What a request says of caching.
struct RequestControl {
  let directives: CacheControl

  init(_ fields: HTTPFields) {
    let lines = fields[values: .cacheControl]
    // RFC 9111 §5.4: Pragma counts only where there is no Cache-Control.
    if lines.isEmpty, let pragma = HTTPField.Name("Pragma") {
      let names = fields[values: pragma].flatMap { DirectiveParser($0).map(\.name) }
      directives = names.contains("no-cache") ? CacheControl(["no-cache"]) : CacheControl()
    } else {
      directives = CacheControl(lines)
    }
  }
}
