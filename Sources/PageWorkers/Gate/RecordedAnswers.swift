import Blobs
import Foundation
import HTTPTypes
import PageKit
import Synchronization

/// Recorded answers to requests of pages: a folder with the file `answers.json`, a list of answers.
///
///     [
///       {"url": "https://api.example.com/items?page=1", "body": [{"name": "Tent"}]},
///       {"url": "https://api.example.com/pictures/*", "file": "picture.png"},
///       {"url": "https://api.example.com/orders", "method": "POST", "status": 201, "fields": {"Location": "/orders/7"}}
///     ]
///
/// The first answer of a method and URL counts. A URL with a `*` at its end is that of all that begin with the text before.
package struct RecordedAnswers: Sendable {
  package struct Answer: Hashable, Sendable {
    package var method: String
    package var url: GateSettings.Pattern
    package var status: Int
    package var fields: HTTPFields
    package var body: [UInt8]
  }

  package static let fileName = "answers.json"
  private static let byteLimit: Int64 = 16 << 20
  /// The limit of all bodies together, in bytes.
  private static let bodiesLimit: Int64 = 256 << 20

  package private(set) var answers: [Answer] = []

  /// No answers.
  package init() {}

  /// Reads the answers in a folder.
  ///
  /// - Throws: ``DescribedError`` with the file, the line and the column.
  package init(folder: String) throws {
    let path = "\(folder)/\(Self.fileName)"
    let bytes: [UInt8]
    do {
      bytes = try RegularFile.contents(of: path, upTo: Self.byteLimit)
    } catch {
      throw DescribedError("\(path) cannot be read: \(error.sentence)")
    }
    var left = Self.bodiesLimit
    answers = try PlacedJSON(bytes, named: path).list().map { try Self.answer($0, folder, &left) }
  }

  private static func answer(_ element: PlacedJSON, _ folder: String, _ left: inout Int64) throws -> Answer {
    let members = try element.object(["body", "fields", "file", "method", "status", "url"])
    guard let address = members["url"] else { throw element.fault("the answer has no \"url\"") }
    let text = try address.text()
    let isPrefix = text.hasSuffix("*")
    guard let url = PageURL(isPrefix ? String(text.dropLast()) : text), !url.isFile else {
      throw address.fault(expected: "an http or https URL, which may end in \"*\"")
    }
    var fields: HTTPFields = [:]
    for (name, value) in try members["fields"]?.entries() ?? [] {
      let text = try value.text()
      guard let name = HTTPField.Name(name), HTTPField.isValidValue(text) else {
        throw value.fault("\(name.quotedForMessage) is no field of HTTP")
      }
      fields.append(HTTPField(name: name, value: text))
    }
    var (body, type): ([UInt8], String?) = ([], nil)
    switch (members["body"], members["file"]) {
    case (_?, let file?): throw file.fault("the answer has a \"body\" too: write one of them")
    case (let value?, nil):
      if case .string(let text) = value.value {
        (body, type) = (Array(text.utf8), "text/plain; charset=utf-8")
      } else {
        (body, type) = (value.value.text, "application/json")
      }
    case (nil, let file?): body = try contents(file, folder, left)
    case (nil, nil): break
    }
    left -= Int64(body.count)
    guard left >= 0 else { throw element.fault("the answers have more than \(bodiesLimit >> 20) MiB together") }
    if let type, fields[.contentType] == nil { fields[.contentType] = type }
    return Answer(
      method: try members["method"]?.text(upTo: 40).uppercased() ?? "GET",
      url: GateSettings.Pattern(isPrefix ? url.text + "*" : url.text),
      status: Int(try members["status"]?.count(in: 200...599) ?? 200), fields: fields, body: body)
  }

  private static func contents(_ file: PlacedJSON, _ folder: String, _ limit: Int64) throws -> [UInt8] {
    let name = try file.text()
    guard !name.hasPrefix("/"), !name.split(separator: "/").contains("..") else {
      throw file.fault(expected: "the path of a file below \(folder)")
    }
    do {
      return try RegularFile.contents(of: "\(folder)/\(name)", upTo: limit)
    } catch {
      throw file.fault("\(folder)/\(name) cannot be read: \(error.sentence)")
    }
  }

  /// The answer to a request; `nil` if there is none.
  package func answer(_ method: String, _ url: String) -> Answer? {
    let url = PageURL(url)?.text ?? url
    return answers.first { $0.method == method && $0.url.matches(url) }
  }
}

/// Answers requests from recordings, in the place of the network.
struct RecordedTransport: HTTPTransporting {
  let answers: RecordedAnswers
  /// Is told each request that has no answer.
  let unanswered: @Sendable (TransportRequest) -> Void

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    let (method, url) = (request.head.method.rawValue, request.url)
    guard let answer = answers.answer(method, url) ?? (method == "HEAD" ? answers.answer("GET", url) : nil) else {
      unanswered(request)
      throw TransportError.notPermitted(url: url, address: "the network", reason: "no answer is recorded")
    }
    let head = HTTPResponse(status: .init(code: answer.status), headerFields: answer.fields)
    return TransportResponse(head: head, body: Body(method == "HEAD" ? [] : answer.body), version: "1.1")
  }
}
