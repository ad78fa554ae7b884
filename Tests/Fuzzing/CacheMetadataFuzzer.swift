import Foundation
import HTTPTransport
import HTTPTypes

@testable import HTTPCache
@testable import HTTPCaching

/// The metadata that is read back of a stored response, and the fields of responses and requests that a cache goes by.
enum CacheMetadataFuzzer: Fuzzer {
  static let name = "cache-metadata"

  /// A front of a file, or fields of a request and, behind an empty line, of its response.
  static let seeds = seedTexts.map { Array($0.utf8) } + binaryFronts

  private static let seedTexts = [
    """
    {"id":1,"key":"shared https://a.example/","status":200,"fields":[["Cache-Control","max-age=60"],["ETag","\\"1\\""]],
    "requestedAt":1,"receivedAt":2,"vary":{"accept":"a","x":null},"first":5,"size":100,"isInvalidated":false,"staleSince":7,
    "staleAt":9,"userInfo":{"a":"b"},"digest":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    "count":50,"isInline":true,"storedAt":1.5}
    """,
    "Accept: a;q=0.5, B\nAccept-Encoding: gzip, br;q=0\nCache-Control: max-stale=5\n\nVary: Accept, accept-encoding\n"
      + "Cache-Control: max-age=60, private=\"a, b\", stale-while-revalidate=9\nAge: 7\n"
      + "Date: Sun, 06 Nov 1994 08:49:37 GMT\nExpires: Sunday, 06-Nov-94 08:49:37 GMT\nETag: W/\"a\"\n"
      + "Last-Modified: Sun Nov  6 08:49:37 1994",
    "Range: bytes=5-9\nIf-Range: \"a\"\nIf-None-Match: \"a\", W/\"b\"\n\nContent-Range: bytes 0-9/10\nETag: \"a\"\n"
      + "Set-Cookie: a=b\nSurrogate-Key: a b\nCache-Tag: c, d\nCDN-Cache-Control: max-age=60, no-store=?0",
    "Pragma: no-cache\nAuthorization: x\n\nCache-Control: s-maxage=99999999999999999999, must-understand, no-store\nVary: *",
  ]

  /// A front of a file in the layout that is written now.
  private static var binaryFronts: [[UInt8]] {
    let time = HTTPDate(secondsSinceEpoch: 1)
    guard let digest = SHA256Digest(bytes: [UInt8](repeating: 1, count: SHA256Digest.byteCount)),
      let key = CacheKey(text: "shared https://a.example/")
    else { return [] }
    var head = ResponseMetadata(
      status: 200, fields: [.cacheControl: "max-age=60", .eTag: "\"1\""],
      times: ExchangeTimes(request: time, response: time), vary: VaryKey(values: ["accept": "a", "x": nil]),
      extent: .part(5..<55, of: 100), staleAt: 9, userInfo: ["a": "b"])
    head.staleSince = time
    let entry = ResponseEntry(id: 1, key: key, head: head, digest: digest, isKept: false, storedAt: 1.5)
    let sealed = try? ResponseFileHeader(entry, isInline: true).sealed()
    return [Array(sealed?.dropFirst(ResponseFileHeader.sealSize) ?? [])]
  }

  private static let now = HTTPDate(secondsSinceEpoch: 784_111_777)

  static func read(_ bytes: [UInt8]) {
    hold(
      ResponseFileHeader.open(bytes).map { bytes.starts(with: $0.bytes) } ?? true, "a header is what a file begins with"
    )
    for format in ResponseFileHeader.Format.allCases { front(bytes, format) }
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    let border = lines.firstIndex(of: "") ?? lines.endIndex
    exchange(fields(lines[..<border]), fields(lines[border...]))
    for line in lines.prefix(8) { texts(String(line)) }
  }

  // MARK: What a file says

  private static func front(_ bytes: [UInt8], _ format: ResponseFileHeader.Format) {
    guard let header = ResponseFileHeader(front: bytes[...], format, isKept: false) else { return }
    let entry = header.entry
    hold(entry.head.extent.count >= 0, "a body has no fewer bytes than none")
    // It is used as a cache uses it.
    for policy in [CachePolicy(mode: .private), CachePolicy(mode: .shared)] {
      decide(stored(entry.head, policy), [:], policy)
    }
    let sealed: [UInt8]?
    do { sealed = try header.sealed() } catch { return }
    guard let sealed, let opened = ResponseFileHeader.open(sealed) else {
      return hold(sealed == nil, "what was sealed opens")
    }
    hold(opened.bytes == sealed, "what was sealed is all there")
    guard let again = opened.header(isKept: false) else {
      return hold(false, "what was written reads: \(entry)")
    }
    hold(again == header, "what was written reads the same: \(header) \(again)")
    var changed = sealed
    changed[sealed.count - 1] ^= 1
    hold(ResponseFileHeader.open(changed) == nil, "a front that was changed does not open")
  }

  private static func stored(_ head: ResponseMetadata, _ policy: CachePolicy) -> StoredResponse {
    StoredResponse(id: 1, head, policy: policy)
  }

  // MARK: Fields

  private static func fields(_ lines: ArraySlice<Substring>) -> HTTPFields {
    var fields = HTTPFields()
    for line in lines {
      guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else { continue }
      let value = String(line[line.index(after: colon)...])
      if HTTPField.isValidValue(value) { fields.append(HTTPField(name: name, value: value)) }
    }
    return fields
  }

  private static func exchange(_ asked: HTTPFields, _ answered: HTTPFields) {
    let control = CacheControl(answered[values: .cacheControl])
    for seconds in [control.maxAge, control.sharedMaxAge, control.staleIfError, control.minFresh] {
      hold((0...CacheControl.longestSeconds).contains(seconds ?? 0), "seconds have limits: \(control)")
    }
    let request = HTTPRequest(method: .get, scheme: "https", authority: "a", path: "/", headerFields: asked)
    let times = ExchangeTimes(request: now, response: now)
    let key = VaryKey(vary: answered, request: asked)
    if let key { hold(key.matches(asked), "a request has what its answer was chosen by: \(key) \(asked)") }
    hold(CacheTags.of(answered).count <= CacheTags.limit, "tags have a limit")
    for policy in [CachePolicy(mode: .private), CachePolicy(mode: .shared)] {
      for status in [200, 206, 404] {
        let response = HTTPResponse(status: .init(code: status), headerFields: answered)
        let (extent, kept): (Extent, HTTPFields)
        switch policy.storage(of: response, to: request, received: now) {
        case .store(_, let fields): (extent, kept) = (.whole(100), fields)
        case .storePart(let range, let fields): (extent, kept) = (Extent(range.range, of: range.size), fields)
        case .refuse: continue
        }
        guard let key else { return hold(false, "what nothing matches is not stored: \(answered)") }
        hold(policy.mode == .private || !kept.contains(.setCookie), "a shared cache keeps nobody's cookie: \(kept)")
        let stored = StoredResponse(
          id: 1, status: 200, fields: kept, times: times, vary: key, extent: extent, policy: policy)
        hold(stored.answers(asked), "a request is answered by what it was answered with: \(stored)")
        decide(stored, asked, policy)
      }
    }
  }

  private static func decide(_ stored: StoredResponse, _ asked: HTTPFields, _ policy: CachePolicy) {
    let request = HTTPRequest(method: .get, scheme: "https", authority: "a", path: "/", headerFields: asked)
    var age: Int64 = 0
    for later: Int64 in [0, 60, 1 << 40, .max - 784_111_777] {
      let time = HTTPDate(secondsSinceEpoch: now.secondsSinceEpoch + later)
      let next = stored.age.seconds(at: time)
      hold(next >= age && next <= CacheControl.longestSeconds, "nothing grows younger: \(stored) \(age) \(next)")
      age = next
      switch policy.decision(for: request, among: [stored], at: time) {
      case .serve(let response, let age, _), .serveStale(let response, let age, _):
        if let range = response.response(to: request, age: age).bytes {
          hold(range.lowerBound >= 0 && !range.isEmpty || response.extent.count == 0, "a body has bytes: \(range)")
          hold(range.upperBound <= response.extent.count, "no byte is given that is not there: \(range) \(stored)")
        }
        hold(!response.isInvalidated, "what was changed is not served: \(stored)")
      case .revalidate, .complete, .fetch, .gatewayTimeout: break
      }
    }
    let confirmed = HTTPResponse(status: .notModified, headerFields: stored.fields)
    _ = policy.decision(on: confirmed, to: request, for: request, validating: stored, at: now)
  }

  private static func texts(_ text: String) {
    if let date = HTTPDate(text, now: now) {
      hold(HTTPDate(date.description, now: now) == date, "a date that was written reads the same: \(text) \(date)")
    }
    if let range = ContentRange(text) {
      hold(!range.range.isEmpty && ContentRange(range.description) == range, "a range reads the same: \(text)")
    }
    let tags = EntityTag.list([text])
    hold(tags.allSatisfy { EntityTag.list([$0]) == [$0] }, "what was taken apart is taken apart no further: \(text)")
    if let key = CacheKey(text: text) { hold(CacheKey(text: key.description) == key, "a key reads the same: \(text)") }
  }
}
