import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes

extension ResourceLoader {
  /// What a page's request means: its URL, what the rules say of it, and all the fields that are sent.
  func prepare(_ request: ResourceRequest) throws -> PreparedRequest {
    if request.reference.lowercased().hasPrefix("data:") { return .inline(try DataURL(request.reference)) }
    let text = rewriters.reduce(request.reference) { $1.rewrite($0, for: request) }
    guard let known = urls.entry(for: text, ignoring: configuration.ignoredParameters) else {
      throw LoadError.invalidReference(request.reference)
    }
    if known.url.isFile { return .file(known.url) }
    var fields = request.fields
    var body = request.body
    if request.compressesBody, !body.isEmpty, fields[.contentEncoding] == nil, let packed = coding.compress(body) {
      body = packed
      fields[.contentEncoding] = "gzip"
    }
    var hop = try makeHop(known, request, method: request.method, fields: fields, body: body)
    // Where its answer redirects to is a server's matter.
    hop.origin = request.origin
    (hop.stream, hop.target, hop.informational) = (request.stream, request.target, request.informational)
    (hop.host, hop.clientHost) = (request.host, request.clientHost)
    return .network(hop, request)
  }

  private func makeHop(
    _ known: URLMemo.Entry, _ request: ResourceRequest, method: HTTPRequest.Method, fields: HTTPFields, body: [UInt8]
  ) throws -> OutgoingRequest {
    let (url, identity) = (known.url, known.identity)
    let rule = configuration.rules.first { $0.matches(identity, request.type) }
    let partition = request.partition ?? self.partition
    // The content counts, not its encoding.
    let postKey = method == .post ? rule?.postKey?(request.body) : nil
    guard
      let head = HTTPRequest(
        method: postKey == nil ? method : .get, url: url, fields: completed(fields, url, in: partition))
    else {
      throw LoadError.invalidReference(url.text)
    }
    let lifetime = rule.map(\.lifetime) ?? .server
    return OutgoingRequest(
      url: url,
      key: postKey.map { CacheKey(identity, body: $0, in: partition) }
        ?? CacheKey(identity, host: request.host, in: partition),
      request: head, method: method, body: body, fields: fields,
      behavior: request.behavior ?? rule?.behavior ?? configuration.behavior(of: request.type),
      lifetime: lifetime == .server ? cache.lifetime : lifetime,
      sharesCookies: rule?.sharesCookies ?? cache.policy.sharesCookies, priority: request.priority, type: request.type,
      keepsContentEncoding: request.keepsContentEncoding, isStored: request.isStored, snapshot: request.snapshot)
  }

  /// With everything that libcurl would add by itself: `Vary` must see what is sent.
  private func completed(_ fields: HTTPFields, _ url: PageURL, in partition: CachePartition) -> HTTPFields {
    var fields = configuration.originFields?.adding(to: fields, for: url) ?? fields
    if configuration.addsNothing { return fields }
    if !fields.contains(.accept) { fields[.accept] = "*/*" }
    if !fields.contains(.userAgent) { fields[.userAgent] = configuration.userAgent }
    if !fields.contains(.acceptEncoding) {
      // RFC 9110 §14.2: a range is one of the encoded bytes, which nobody wants a piece of.
      fields[.acceptEncoding] = fields.contains(.range) ? "identity" : coding.acceptEncoding
    }
    if !fields.contains(.cookie), let cookie = cookies(of: partition)?.cookieHeader(for: url) {
      fields[.cookie] = cookie
    }
    return fields
  }

  /// Where a redirect leads. RFC 9110 §15.4.
  func nextHop(after hop: OutgoingRequest, to target: PageURL, status: Int, _ request: ResourceRequest)
    -> OutgoingRequest
  {
    var fields = hop.fields
    if target.origin != hop.url.origin {
      // What identifies the user is for the origin it was meant for.
      for name in [HTTPField.Name.authorization, .cookie, .proxyAuthorization] { fields[name] = nil }
    }
    let becomesGet = status == 303 && hop.method != .head || [301, 302].contains(status) && hop.method == .post
    if becomesGet {
      for name in [HTTPField.Name.contentType, .contentLength, .contentEncoding] { fields[name] = nil }
    }
    let next = try? makeHop(
      URLMemo.Entry(target, ignoring: configuration.ignoredParameters), request, method: becomesGet ? .get : hop.method,
      fields: fields,
      body: becomesGet ? [] : hop.body)
    return next ?? hop
  }

  /// A file of the app: only those in the local folder.
  func loadLocalFile(_ url: PageURL) throws -> Resource {
    guard let folder = configuration.localFolder, let path = url.filePath else {
      throw LoadError.unreadableFile(url, reason: "local files may not be read")
    }
    let root = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path + "/"
    let file = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    guard file.path.hasPrefix(root) else {
      throw LoadError.unreadableFile(url, reason: "it is outside of the folder for local files")
    }
    guard let handle = try? FileHandle(forReadingFrom: file) else {
      throw LoadError.unreadableFile(url, reason: "there is no such file, or it may not be read")
    }
    guard let content = LocalFileBody(handle, path: path) else {
      throw LoadError.unreadableFile(url, reason: "it is no file")
    }
    guard content.count <= configuration.bodyLimit else {
      throw LoadError.tooLarge(url, limit: configuration.bodyLimit)
    }
    return Resource(
      url: url, body: Body(content, 0..<content.count), count: content.count, mediaType: MediaType.of(path: path),
      source: .local)
  }
}

extension Resource {
  init(inline data: DataURL) {
    self.init(url: nil, bytes: data.bytes, mediaType: data.mediaType, source: .local)
  }

  /// Bytes that are not an HTTP response's, as those of one.
  init(url: PageURL?, bytes: [UInt8], mediaType: String, source: Source) {
    self.init(url: url, body: Body(bytes), count: Int64(bytes.count), mediaType: mediaType, source: source)
  }

  fileprivate init(url: PageURL?, body: Body, count: Int64, mediaType: String, source: Source) {
    let fields: HTTPFields = [.contentType: mediaType, .contentLength: String(count)]
    let status = source == .release ? CacheStatus(.hit, detail: "release") : nil
    self.init(
      url: url, response: HTTPResponse(status: .ok, headerFields: status?.added(to: fields) ?? fields),
      body: body, source: source, cacheStatus: status)
  }
}
