import HTTPTransport
import PageRuntime
import ScriptEngine

/// A request of a debugger, in the form of the Chrome DevTools Protocol 1.3.
struct InspectorRequest {
  let id: Int
  let method: String
  let params: ScriptValue

  /// The limits of a request. Those of Chrome have some ten levels.
  static let limits = JSONLimits(depth: 64, values: 100_000)

  /// - Throws: ``InspectorFault``.
  init(_ text: [UInt8]) throws(InspectorFault) {
    let message: ScriptValue
    do {
      message = ScriptValue(try JSONValue(reading: text, limits: Self.limits))
    } catch {
      throw InspectorFault(.notJSON, "the message is not JSON: \(error)")
    }
    guard let id = message["id"].int, id >= 0 else {
      throw InspectorFault(.invalidRequest, "the message has no \"id\" that is a whole number from 0")
    }
    guard let method = message["method"].string else {
      throw InspectorFault(.invalidRequest, "the message has no \"method\"", id: id)
    }
    guard message["sessionId"] == .undefined else {
      throw InspectorFault(.unknownSession, "there is no session of this sessionId", id: id)
    }
    (self.id, self.method, params) = (id, method, message["params"])
  }
}

/// The reason why a request gets an error.
struct InspectorFault: Error {
  /// The codes of JSON-RPC 2.0 §5.1, and those of Chrome.
  enum Code: Int {
    case notJSON = -32_700
    case invalidRequest = -32_600
    case unknownMethod = -32_601
    case invalidParams = -32_602
    /// The request cannot be carried out.
    case failed = -32_000
    case unknownSession = -32_001
  }

  let code: Code
  let message: String
  /// The id of the request; `nil` if it is unknown.
  let id: Int?

  init(_ code: Code, _ message: String, id: Int? = nil) { (self.code, self.message, self.id) = (code, message, id) }

  /// The answer to a request.
  ///
  /// - Parameter id: that of the request, if the error has none.
  func text(for id: Int? = nil) -> [UInt8] {
    var members: [String: ScriptValue] = ["error": ["code": ScriptValue(code.rawValue), "message": .string(message)]]
    if let id = self.id ?? id { members["id"] = ScriptValue(id) }
    return ScriptValue.object(members).json.text
  }
}

extension ScriptValue {
  init(_ value: Int) { self = .number(Double(value)) }
}

/// The script of a page, and what a debugger shows of it.
package struct InspectedScript: Hashable, Sendable {
  /// The URL as the page's errors name it.
  package let url: String
  /// The length in UTF-16 units.
  let length: Int
  /// The number of lines.
  let lines: Int
  /// The absolute URL of its source map, or a `data:` URL; empty if it names none.
  let sourceMap: String

  package init(_ source: String, at url: String) {
    self.url = url
    length = source.utf16.count
    lines = 1 + source.utf8.count { $0 == UInt8(ascii: "\n") }
    let reference = SourceMap.reference(in: source) ?? ""
    sourceMap =
      reference.isEmpty || reference.lowercased().hasPrefix("data:")
      ? reference : PageURL(url)?.resolving(reference)?.text ?? reference
  }
}

/// A question of a session, which somebody answers for it.
package enum InspectorQuestion: Hashable, Sendable {
  /// A question to the page.
  case page(PageInspection)
  /// The text of its script.
  case source
  /// The body of a response, by the id of its request.
  case body(String)
  /// Shows something in the viewers of the page.
  case overlay(InspectedOverlay)
  /// Opens the page again. The session hears of it with ``InspectorNews/replaced(_:)``.
  case reload
}

/// A box in the viewers of a page, and the wait for a click there, both for a debugger.
package struct InspectedOverlay: Hashable, Sendable {
  /// The ref of the element that has a box around it; `nil` for none.
  package var ref: String?
  /// The type of that element.
  package var label = ""
  /// `true` while a click in a viewer chooses an element for the debugger.
  package var isPicking = false

  package init() {}
}

/// The answer to a question of a session.
package enum InspectorAnswer: Sendable {
  /// The answer to ``PageInspection/tree``.
  case tree(ElementTree)
  /// The answer to other questions to the page.
  case value(ScriptValue)
  /// The text of the script.
  case text(String)
  /// The body of a response.
  case body([UInt8])
  case done
  /// The reason as a sentence.
  case failed(String)
}

/// An event of a page.
package enum InspectorNews: Sendable {
  /// Elements have changed.
  case elements
  case log(level: String, text: String)
  case exception(ScriptException)
  /// A step of a request.
  case exchange(InspectedExchange)
  /// A viewer has chosen an element, by its ref in the viewer's document.
  case picked(String)
  /// Events were left out, since they were too many.
  case missed(Int)
  /// The page begins anew, with this script.
  case replaced(InspectedScript)
}

/// An action for a session.
package enum InspectorAction: Sendable {
  /// Send a message to the debugger.
  case send([UInt8])
  /// Answer a question, with its number.
  case ask(Int, InspectorQuestion)
}
