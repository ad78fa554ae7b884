import Foundation
import HTTPCache
import HTTPTransport
import HTTPTypes
import ScriptEngine

/// `stream`: the requests of scripts.
enum StreamModule {
  static func register(_ table: inout ModuleTable) {
    table.add("stream", "fetch", .deferred { try await fetch($0, $1) })
    table.add("stream", "sendHttp", .deferred { try await sendHTTP($0, $1) })
  }

  /// The older form of `fetch`: its callback gets the body as text, empty if there was no answer.
  @PageActor private static func sendHTTP(_ call: ModuleCall, _ page: PageInstance) async throws {
    let callback = call.callback(at: 1)
    var options = call[0].object ?? [:]
    options["headers"] = options["header"] ?? options["headers"]
    var text = ""
    if let request = try? makeRequest(.object(options), page) {
      do {
        for try await update in page.updates(for: request, within: timeout(in: call[0]) ?? .seconds(60)) {
          switch update {
          case .cached(let loaded), .network(let loaded), .notModified(let loaded):
            text = String(decoding: try await loaded.body.collect(), as: UTF8.self)
          case .failed(let failure):
            guard text.isEmpty, let loaded = failure.answer else { break }
            text = String(decoding: try await loaded.body.collect(), as: UTF8.self)
          }
        }
      } catch is PageTimeout {}
    }
    if let callback { try await page.callback(callback, .string(text)) }
  }

  /// The script's time limit.
  private static func timeout(in options: ScriptValue) -> Duration? {
    options["timeout"].number.map { .milliseconds(Int(min(max($0, 1), 86_400_000))) }
  }

  @PageActor private static func fetch(_ call: ModuleCall, _ page: PageInstance) async throws {
    let options = call[0]
    let callback = call.callback(at: 1)
    let progress = call.callback(at: 2)
    func answer(_ value: ScriptValue, keepAlive: Bool = false) async throws {
      if let callback { try await page.callback(callback, value, keepAlive: keepAlive) }
    }
    let request: ResourceRequest
    do {
      request = try makeRequest(options, page)
    } catch {
      return try await answer(failed("\(error)"))
    }
    if let progress { try await page.callback(progress, ["readyState": 1], keepAlive: true) }
    let timeout = timeout(in: options)
    let kind = Kind(options["type"].string)
    let isTwofold = page.environment.resources.behavior(for: page.rewritten(request)).refresh == .always
    var hasAnswered = false
    do {
      for try await update in page.updates(for: request, within: timeout) {
        switch update {
        case .cached(let loaded) where isTwofold:
          try await answer(try await kind.payload(loaded, fromCache: true), keepAlive: true)
          hasAnswered = true
        case .notModified where hasAnswered: break
        case .cached(let loaded), .network(let loaded), .notModified(let loaded):
          if let progress { try await page.callback(progress, Self.state(of: loaded), keepAlive: true) }
          try await answer(try await kind.payload(loaded, fromCache: isTwofold ? false : nil))
          hasAnswered = true
        case .failed(let failure):
          // An answer that was given stays valid.
          if hasAnswered { break }
          if let loaded = failure.answer {
            try await answer(try await kind.payload(loaded, fromCache: isTwofold ? false : nil))
          } else {
            try await answer(failed(failure.description))
          }
          hasAnswered = true
        }
      }
    } catch is PageTimeout {
      if !hasAnswered { try await answer(failed("the request took longer than its timeout")) }
    }
  }

  private static func failed(_ reason: String) -> ScriptValue {
    ["status": -1, "ok": false, "statusText": "ERR_CONNECT_FAILED", "data": .string(reason), "headers": [:]]
  }

  private static func state(of loaded: Resource) -> ScriptValue {
    [
      "readyState": 4, "status": .number(Double(loaded.status)),
      "length": .number(loaded.response.headerFields[.contentLength].flatMap { Double($0) } ?? 0),
      "statusText": .string(loaded.response.status.standardPhrase), "headers": headers(of: loaded),
    ]
  }

  fileprivate static func headers(of loaded: Resource) -> ScriptValue {
    var values: [String: String] = [:]
    for field in loaded.response.headerFields {
      let name = field.name.rawName
      values[name] = values[name].map { "\($0), \(field.value)" } ?? field.value
    }
    return values.scriptValue
  }

  @PageActor private static func makeRequest(_ options: ScriptValue, _ page: PageInstance) throws -> ResourceRequest {
    guard let url = options["url"].string, !url.isEmpty else { throw LoadError.invalidReference("") }
    let name = (options["method"].string ?? "GET").uppercased()
    guard let method = HTTPRequest.Method(name) else { throw LoadError.invalidReference("the method \(name)") }
    var fields = HTTPFields()
    for (name, value) in options["headers"].object ?? [:] {
      guard let name = HTTPField.Name(name), let text = value.plainText, HTTPField.isValidValue(text) else { continue }
      fields[name] = text
    }
    var body: [UInt8] = []
    if method != .get, method != .head {
      switch options["body"] {
      case .string(let text): body = Array(text.utf8)
      case .object, .array:
        body = Array(options["body"].jsonText.utf8)
        if !fields.contains(.contentType) { fields[.contentType] = "application/json" }
      default: break
      }
      if !body.isEmpty, !fields.contains(.contentType) { fields[.contentType] = "application/x-www-form-urlencoded" }
    }
    var request = ResourceRequest(url, base: page.url, type: .fetch, method: method, fields: fields, body: body)
    if let mode = options["cache"].string { request.behavior = LoadBehavior(named: mode) }
    return request
  }

  /// The form in which the script wants the answer's body.
  private enum Kind {
    case json
    case jsonp
    case text

    init(_ name: String?) {
      switch name?.lowercased() {
      case "json": self = .json
      case "jsonp": self = .jsonp
      default: self = .text
      }
    }

    func payload(_ loaded: Resource, fromCache: Bool?) async throws -> ScriptValue {
      let text = String(decoding: try await loaded.body.collect(), as: UTF8.self)
      let isGood = (200..<300).contains(loaded.status)
      var payload: [String: ScriptValue] = [
        "status": .number(Double(loaded.status)), "ok": .bool(isGood),
        "statusText": .string(loaded.response.status.standardPhrase), "headers": StreamModule.headers(of: loaded),
      ]
      switch self {
      case .text: payload["data"] = .string(text)
      case .json: payload["data"] = ScriptValue(json: text) ?? .string(text)
      case .jsonp: payload["data"] = Self.argument(of: text).flatMap { ScriptValue(json: $0) } ?? .string(text)
      }
      if let fromCache { payload["fromCache"] = .bool(fromCache) }
      return .object(payload)
    }

    /// `name({…});`
    private static func argument(of text: String) -> String? {
      guard let start = text.firstIndex(of: "("), let end = text.lastIndex(of: ")"), start < end else { return nil }
      return String(text[text.index(after: start)..<end])
    }
  }
}
