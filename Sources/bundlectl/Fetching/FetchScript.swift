import Foundation
import HTTPTypes
import PageKit
import Synchronization

/// Answers requests that come as lines of JSON with lines of JSON.
struct FetchScript: Sendable {
  let loader: ResourceLoader
  let policy: LoadBehavior

  /// Requests under way at once.
  private static let width = 32
  /// Lines must not mix.
  private static let output = Mutex(())

  func run() async {
    await withTaskGroup(of: Void.self) { group in
      var underway = 0
      while let line = await StandardInput.nextLine() {
        if line.allSatisfy(\.isWhitespace) { continue }
        if underway == Self.width {
          await group.next()
          underway -= 1
        }
        underway += 1
        group.addTask {
          let answer = await answer(line)
          Self.output.withLock { _ in Terminal.output.line(answer.json) }
        }
      }
    }
  }

  private func answer(_ line: String) async -> ScriptAnswer {
    let request: ScriptRequest
    do {
      request = try JSONDecoder().decode(ScriptRequest.self, from: Data(line.utf8))
    } catch {
      return ScriptAnswer(id: nil, error: "the line is no request: \(error.jsonReason)")
    }
    do {
      let loaded = try await finalAnswer(try request.resource(policy))
      return ScriptAnswer(id: request.id, loaded, body: try await loaded.body.bytes())
    } catch {
      return ScriptAnswer(id: request.id, error: "\(error)")
    }
  }

  /// The last answer that the policy brings.
  private func finalAnswer(_ request: ResourceRequest) async throws -> Loaded {
    guard request.behavior?.refresh == .always else { return try await loader.response(for: request) }
    var last: Loaded?
    var failure: LoadFailure?
    for await update in loader.updates(for: request) {
      switch update {
      case .cached(let loaded), .network(let loaded), .notModified(let loaded): last = loaded
      case .failed(let failed): failure = failed
      }
    }
    if let last { return last }
    if let answer = failure?.answer { return answer }
    throw failure?.error ?? CommandError("there is no answer")
  }
}

/// One line of input.
struct ScriptRequest: Decodable {
  let id: JSONValue?
  let method: String?
  let url: String
  let headers: [[String]]?
  let body: String?
  let policy: String?
  let redirect: String?

  func resource(_ standard: LoadBehavior) throws -> ResourceRequest {
    guard let method = HTTPRequest.Method(self.method ?? "GET") else {
      throw CommandError("\((self.method ?? "").quotedForMessage) is no method")
    }
    var fields = HTTPFields()
    for pair in headers ?? [] {
      guard pair.count == 2, let name = HTTPField.Name(pair[0]), HTTPField.isValidValue(pair[1]) else {
        throw CommandError("\(pair.joined(separator: ": ").quotedForMessage) is no header field")
      }
      fields.append(HTTPField(name: name, value: pair[1]))
    }
    var request = ResourceRequest(url, type: .fetch, method: method, fields: fields, body: Array((body ?? "").utf8))
    request.behavior = standard
    if let policy {
      guard let behavior = LoadBehavior(named: policy) else {
        throw CommandError("there is no policy \(policy.quotedForMessage)")
      }
      request.behavior = behavior
    }
    request.followsRedirects = redirect != "manual"
    return request
  }
}

/// One line of output.
struct ScriptAnswer: Encodable {
  let id: JSONValue?
  var status: Int?
  var headers: [[String]]?
  var body: String?
  var bodyEncoding: String?
  var source: String?
  var cacheStatus: String?
  var error: String?

  init(id: JSONValue?, error: String) {
    self.id = id
    self.error = error
  }

  init(id: JSONValue?, _ loaded: Loaded, body bytes: [UInt8]) {
    self.id = id
    status = loaded.status
    headers = loaded.response.headerFields.map { [$0.name.rawName, $0.value] }
    if let text = String(validating: bytes, as: UTF8.self) {
      (body, bodyEncoding) = (text, "utf8")
    } else {
      (body, bodyEncoding) = (Data(bytes).base64EncodedString(), "base64")
    }
    source = loaded.source.rawValue
    cacheStatus = loaded.cacheStatus?.description
  }

  var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }
}

extension Error {
  fileprivate var jsonReason: String {
    guard let error = self as? DecodingError else { return "\(self)" }
    switch error {
    case .keyNotFound(let key, _): return "it has no \(key.stringValue.quotedForMessage)"
    case .typeMismatch(_, let context), .valueNotFound(_, let context):
      return "\(context.codingPath.map(\.stringValue).joined(separator: ".").quotedForMessage) has the wrong type"
    default: return "it is not valid JSON"
    }
  }
}
