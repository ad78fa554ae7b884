import Foundation
import HTTPTypes
import PageKit
import Synchronization

/// Answers requests in lines of JSON by lines of JSON.
struct FetchScript: Sendable {
  let loader: ResourceLoader
  let policy: LoadBehavior

  /// The number of concurrent requests.
  private static let width = 32
  /// The limit of an answer in bytes; as text in JSON it takes several times as much memory.
  private static let bodyLimit: Int64 = 64 << 20
  /// Keeps output lines from mixing.
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
      request = try await JSONValue.decode(ScriptRequest.self, from: Array(line.utf8))
    } catch {
      let id = try? JSONValue(reading: Array(line.utf8)).decoded(as: LineID.self).id
      return ScriptAnswer(id: id ?? nil, error: "the line is not a request: \(error.jsonReason)")
    }
    do {
      let (loaded, _) = try await FinalAnswer.load(try request.resource(policy), from: loader)
      return ScriptAnswer(id: request.id, loaded, body: try await loaded.body.collect(upTo: Self.bodyLimit))
    } catch {
      return ScriptAnswer(id: request.id, error: error.sentence)
    }
  }
}

/// The id of an invalid line, for its answer.
private struct LineID: Decodable {
  let id: JSONValue?
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
      throw CommandError("\((self.method ?? "").quotedForMessage) is not a method")
    }
    var fields = HTTPFields()
    for pair in headers ?? [] {
      guard pair.count == 2, let name = HTTPField.Name(pair[0]), HTTPField.isValidValue(pair[1]) else {
        // The message does not contain the value, which may be a secret.
        throw CommandError("\((pair.first ?? "").quotedForMessage) is not a header field, or its value is invalid")
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
    guard redirect == nil || ["follow", "manual"].contains(redirect) else {
      throw CommandError("\"redirect\" is either \"follow\" or \"manual\"")
    }
    request.followsRedirects = redirect != "manual"
    return request
  }
}

/// One line of output.
struct ScriptAnswer: Encodable {
  let id: Nullable<JSONValue>
  var status: Int?
  var headers: [[String]]?
  var body: String?
  var bodyEncoding: String?
  var source: String?
  var cacheStatus: String?
  var error: String?

  init(id: JSONValue?, error: String) {
    self.id = Nullable(value: id)
    self.error = error
  }

  init(id: JSONValue?, _ loaded: Resource, body bytes: [UInt8]) {
    self.id = Nullable(value: id)
    status = loaded.status
    headers = loaded.fieldsOfBody.map { [$0.name.rawName, $0.value] }
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
