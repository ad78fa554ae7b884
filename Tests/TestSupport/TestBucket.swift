import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import PageTesting
import Synchronization

/// A bucket of an object store, as far as Amazon S3's interface is used: objects with tags, conditions of writes, and
/// lists.
package final class TestBucket: Sendable {
  package struct Object: Hashable, Sendable {
    package var bytes: [UInt8]
    package var fields: HTTPFields
    /// RFC 3339.
    package var modified: Date
  }

  private struct State {
    var objects: [String: Object] = [:]
    var isConditional = true
    var wantsBareTags = false
    var losesAnswerTo: String?
    var now = Date(timeIntervalSince1970: 1_800_000_000)
    var beforeWrite: (@Sendable (String) async -> Void)?
    var beforeList: (@Sendable () async -> Void)?
    var listing: (@Sendable (_ token: String) -> String)?
    var loss: Loss = .none
    var givesTags = true
    var pageSize = 1000
  }

  /// The part of written objects that is lost, though the answer says 200.
  package enum Loss: Hashable, Sendable {
    case none
    case half
    case all
  }

  package let origin: FaultOrigin
  private let state = Mutex(State())

  /// - Parameter origin: has the bucket at `/bucket/`.
  package init(on origin: FaultOrigin) {
    self.origin = origin
    origin.respond("/bucket/*") { [weak self] in await self?.answer($0) ?? OriginResponse(status: .gone) }
  }

  /// The variables with which it is used.
  package var environment: [String: String] {
    [
      "AWS_ENDPOINT_URL": origin.url(for: "/"), "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
      "AWS_REGION": "us-east-1",
    ]
  }

  package var objects: [String: Object] { state.withLock { $0.objects } }
  package subscript(_ key: String) -> [UInt8]? {
    get { state.withLock { $0.objects[key]?.bytes } }
    set {
      state.withLock { state in
        state.objects[key] = newValue.map { Object(bytes: $0, fields: [:], modified: state.now) }
      }
    }
  }

  /// Pass `false` for a store that writes whatever the condition.
  package func setConditional(_ isConditional: Bool) { state.withLock { $0.isConditional = isConditional } }
  /// Answers the next write of an object with 500, after it was written.
  package func loseAnswer(to key: String) { state.withLock { $0.losesAnswerTo = key } }
  /// Lets conditions have tags without quotes, as Ceph 16 does.
  package func setWantsBareTags() { state.withLock { $0.wantsBareTags = true } }
  package func setPageSize(_ size: Int) { state.withLock { $0.pageSize = size } }
  package func advance(by seconds: TimeInterval) { state.withLock { $0.now += seconds } }
  package var now: Date { state.withLock { $0.now } }

  /// Calls a closure before each write, with its key.
  package func beforeWrite(_ body: (@Sendable (String) async -> Void)?) { state.withLock { $0.beforeWrite = body } }

  /// Calls a closure before each list.
  package func beforeList(_ body: (@Sendable () async -> Void)?) { state.withLock { $0.beforeList = body } }
  /// Answers each list with the XML that a closure makes for a continuation token.
  package func setListing(_ listing: (@Sendable (_ token: String) -> String)?) {
    state.withLock { $0.listing = listing }
  }
  /// Lets writes lose bytes, and answers them with 200 and without a tag.
  package func setLoss(_ loss: Loss) { state.withLock { $0.loss = loss } }
  /// Pass `false` for a store whose answers have no tags, for example behind a proxy that removes them.
  package func setGivesTags(_ givesTags: Bool) { state.withLock { $0.givesTags = givesTags } }

  private func answer(_ request: OriginRequest) async -> OriginResponse {
    let parts = request.path.dropFirst("/bucket/".count).split(
      separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let key = String(parts[0]).removingPercentEncoding ?? ""
    guard request.headers[.authorization]?.hasPrefix("AWS4-HMAC-SHA256 Credential=key/") == true else {
      return Self.error(403, "AccessDenied")
    }
    switch request.method {
    case .get where key.isEmpty:
      await state.withLock { $0.beforeList }?()
      return list(parts.count > 1 ? String(parts[1]) : "")
    case .get, .head:
      return state.withLock { state in
        guard let object = state.objects[key] else { return Self.error(404, "NoSuchKey") }
        let tag = Self.tag(object.bytes)
        var fields = object.fields
        fields[.eTag] = state.givesTags ? tag : nil
        fields[.date] = Self.httpDate(state.now)
        fields[.lastModified] = Self.httpDate(object.modified)
        if request.headers[.ifNoneMatch] == tag { return OriginResponse(status: .notModified, headers: fields) }
        return OriginResponse(headers: fields, body: object.bytes)
      }
    case .put: return await write(key, request)
    case .delete:
      state.withLock { $0.objects[key] = nil }
      return OriginResponse(status: .noContent)
    default: return Self.error(405, "MethodNotAllowed")
    }
  }

  private func write(_ key: String, _ request: OriginRequest) async -> OriginResponse {
    await state.withLock { $0.beforeWrite }?(key)
    guard let name = HTTPField.Name("x-amz-content-sha256"), let digest = try? SHA256Digest(of: request.body),
      request.headers[name] == digest.hex, request.body.count == request.bodySize
    else { return Self.error(400, "XAmzContentSHA256Mismatch") }
    return state.withLock { state in
      let tag = state.objects[key].map { Self.tag($0.bytes) }
      if state.isConditional {
        if request.headers[.ifNoneMatch] == "*", tag != nil { return Self.error(412, "PreconditionFailed") }
        let compared = state.wantsBareTags ? tag?.filter { $0 != "\"" } : tag
        if let wanted = request.headers[.ifMatch], wanted != compared {
          return tag == nil ? Self.error(404, "NoSuchKey") : Self.error(412, "PreconditionFailed")
        }
      }
      var fields = HTTPFields()
      fields[.contentType] = request.headers[.contentType]
      fields[.cacheControl] = request.headers[.cacheControl]
      var kept = request.body
      if state.loss == .half { kept = Array(kept.prefix(kept.count / 2)) }
      state.objects[key] = state.loss == .all ? nil : Object(bytes: kept, fields: fields, modified: state.now)
      if state.loss != .none { return OriginResponse() }
      if state.losesAnswerTo == key {
        state.losesAnswerTo = nil
        return Self.error(500, "InternalError")
      }
      return OriginResponse(headers: state.givesTags ? [.eTag: Self.tag(request.body)] : [:])
    }
  }

  private func list(_ query: String) -> OriginResponse {
    var parameters: [String: String] = [:]
    for pair in query.split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      parameters[String(parts[0])] = parts.count > 1 ? String(parts[1]).removingPercentEncoding : ""
    }
    let (prefix, after) = (parameters["prefix"] ?? "", parameters["continuation-token"] ?? "")
    return state.withLock { state in
      if let listing = state.listing {
        return OriginResponse(headers: [.contentType: "application/xml"], body: listing(after).utf8)
      }
      let keys = state.objects.keys.filter { $0.hasPrefix(prefix) && $0 > after }.sorted()
      let page = keys.prefix(state.pageSize)
      let contents = page.map { key -> String in
        let object = state.objects[key]
        let written = (object?.modified ?? state.now).formatted(.iso8601).replacing("Z", with: ".000Z")
        let text = key.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
        return
          "<Contents><Key>\(text)</Key><LastModified>\(written)</LastModified><Size>\(object?.bytes.count ?? 0)</Size></Contents>"
      }
      let isCut = keys.count > page.count
      let next = isCut ? "<NextContinuationToken>\(page.last ?? "")</NextContinuationToken>" : ""
      let text =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult><IsTruncated>\(isCut)</IsTruncated>\(contents.joined())\(next)</ListBucketResult>"
      return OriginResponse(headers: [.contentType: "application/xml"], body: text.utf8)
    }
  }

  private static func tag(_ bytes: [UInt8]) -> String { "\"\((try? MD5Digest(of: bytes).hex) ?? "")\"" }

  private static func error(_ status: Int, _ code: String) -> OriginResponse {
    OriginResponse(
      status: .init(code: status), body: "<?xml version=\"1.0\"?><Error><Code>\(code)</Code></Error>".utf8)
  }

  private static func httpDate(_ date: Date) -> String {
    HTTPDate(secondsSinceEpoch: Int64(date.timeIntervalSince1970)).description
  }
}
