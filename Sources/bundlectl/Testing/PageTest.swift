import Foundation
import PageKit

/// A test of a page, as its file says it.
struct PageTest: Sendable {
  /// The file of the test, as the user names it.
  var file: String
  /// The file of the bundle.
  var page: String
  var data: ScriptValue = [:]
  var device = Device.phone
  /// The framework file for bundles that need one, and the script that runs before the bundle.
  var framework: String?
  var prelude: String?
  /// The answers to the page's requests.
  var answers: [TestAnswer] = []
  /// The files that the answers come from.
  var answerFiles: [String] = []
  /// The page's time, random numbers, zone and locale.
  var determinism = PageDeterminism()
  var budgets: [Budget] = []
  var steps: [Step] = []

  /// The ending of test files.
  static let suffix = ".test.json"

  /// The name of the test in its folder, which its snapshots have too: `home` of `tests/home.test.json`.
  var name: String { Self.name(ofFile: file) }

  static func name(ofFile file: String) -> String {
    let last = file.pathParts.name
    return last.hasSuffix(suffix) ? String(last.dropLast(suffix.count)) : last
  }

  /// The screens that a test may name.
  enum Device {
    static let phone = PictureOptions.Screen("375x667@2")
    static let named = ["phone": phone, "tablet": PictureOptions.Screen("768x1024@2")]
  }

  /// A limit that a page must keep.
  struct Budget: Hashable, Sendable {
    enum Kind: String, CaseIterable, Sendable {
      case bundleBytes, bundleBrotli, elements, depth, requests, responseBytes, commands, processorTime

      /// The noun for messages.
      var noun: String {
        switch self {
        case .bundleBytes: "bytes of the bundle"
        case .bundleBrotli: "bytes of the bundle with the coding br"
        case .elements: "elements"
        case .depth: "levels of elements"
        case .requests: "requests"
        case .responseBytes: "bytes of responses"
        case .commands: "commands to the tree"
        case .processorTime: "ms of processor time"
        }
      }
    }

    var kind: Kind
    /// In milliseconds for ``Kind/processorTime``.
    var limit: Int
    var place: TextPlace
  }

  struct Step: Sendable {
    var place: TextPlace
    var action: Action
  }

  enum Action: Sendable {
    case snapshot(name: String, withStyles: Bool)
    case tap(ElementSelector)
    /// The text that the user types into an element.
    case input(ElementSelector, String)
    case fire(ElementSelector, type: String, event: ScriptValue)
    /// Lets the page's time pass until there is such an element.
    case wait(ElementSelector, limit: Duration)
    case advance(Duration)
    case expect([Expectation])
    case accessible(exceptions: [AccessibilityException])

    /// The step for messages, such as `tap text=Add`.
    var summary: String {
      switch self {
      case .snapshot(let name, _): "snapshot \(name)"
      case .tap(let selector): "tap \(selector)"
      case .input(let selector, _): "input \(selector)"
      case .fire(let selector, let type, _): "fire \(type) \(selector)"
      case .wait(let selector, _): "wait \(selector)"
      case .advance(let time): "advance \(time.inSeconds)"
      case .expect(let expectations): "expect \(expectations.map(\.selector.description).joined(separator: ", "))"
      case .accessible: "accessible"
      }
    }
  }

  /// The names of the snapshots that the test takes.
  var snapshotNames: Set<String> {
    Set(
      steps.compactMap { step in
        if case .snapshot(let name, _) = step.action { name } else { nil }
      })
  }
}

/// The way in which a test names elements: `#id`, `text=Add`, a type such as `list`, or `cell[3]`, the third of its type.
struct ElementSelector: Hashable, Sendable, CustomStringConvertible {
  let description: String
  let query: ElementQuery
  /// The place among the elements that the query finds, from 1; `nil` for all of them.
  let number: Int?

  /// The forms that are read, for messages.
  static let form = "an element: \"#id\", \"text=…\", a type such as \"list\", or \"cell[3]\""

  /// Returns `nil` for texts of other forms.
  init?(_ text: String) {
    description = text
    if text.hasPrefix("#"), text.count > 1 {
      (query, number) = (.id(String(text.dropFirst())), nil)
    } else if text.hasPrefix("text="), text.count > 5 {
      (query, number) = (.text(String(text.dropFirst(5))), nil)
    } else if Self.isType(text) {
      (query, number) = (.type(text), nil)
    } else if let match = text.wholeMatch(of: /(.+)\[([1-9][0-9]{0,5})\]/), Self.isType(String(match.1)) {
      (query, number) = (.type(String(match.1)), Int(match.2))
    } else {
      return nil
    }
  }

  private static func isType(_ text: String) -> Bool {
    guard let first = text.unicodeScalars.first, first.properties.isAlphabetic else { return false }
    return text.unicodeScalars.allSatisfy {
      $0.isASCII && ($0.properties.isAlphabetic || "0123456789-_".unicodeScalars.contains($0))
    }
  }

  /// The elements of a page that have this name, in the order in which the page shows them.
  func all(in tree: ElementTree) -> [ElementTree.Element] {
    let found = tree.all(query)
    guard let number else { return found }
    return found.count < number ? [] : [found[number - 1]]
  }

  func first(in tree: ElementTree) -> ElementTree.Element? {
    number == nil ? tree.first(query) : all(in: tree).first
  }
}

/// An expectation of a step of the elements that a selector finds.
struct Expectation: Hashable, Sendable {
  var selector: ElementSelector
  var place: TextPlace
  /// The number of elements; `nil` for at least one.
  var count: Int?
  /// Members of the first element, and their values.
  var attributes: [String: JSONValue] = [:]
  var style: [String: JSONValue] = [:]

  /// Compares the elements of a page with the expectation.
  ///
  /// - Returns: sentences about what differs.
  func faults(in tree: ElementTree) -> [String] {
    let found = selector.all(in: tree)
    if let count, count != found.count {
      return ["expected \(count) of \(selector), found \(found.count)"]
    }
    guard let element = found.first else {
      return count == 0 ? [] : ["expected an element \(selector), found none"]
    }
    return Self.faults("attribute", attributes, element.attributes, selector)
      + Self.faults("style", style, element.style, selector)
  }

  private static func faults(
    _ noun: String, _ expected: [String: JSONValue], _ members: [String: ScriptValue], _ selector: ElementSelector
  ) -> [String] {
    expected.sorted { $0.key < $1.key }.compactMap { name, value in
      let found = members[name]?.json ?? .null
      guard found != value else { return nil }
      return
        "expected the \(noun) \(name) of \(selector) to be \(value.quotedForMessage), found \(found.quotedForMessage)"
    }
  }
}

/// A request's answer.
struct TestAnswer: Hashable, Sendable {
  /// The method; `GET` by default.
  var method = "GET"
  /// The URL as the file writes it: relative to the page, or whole. One that ends with `*` stands for all that begin so.
  var url: String
  var status = 200
  var fields: [String: String] = [:]
  var body: [UInt8] = []
  /// The file of the body; `nil` if the test has it.
  var file: String?
  /// The reason why there is no answer; `nil` if there is one.
  var failure: String?
}

/// A finding of an accessibility rule that a test accepts: of one rule, on all elements or on some.
struct AccessibilityException: Hashable, Sendable {
  var rule: AccessibilityRule
  var selector: ElementSelector?
}

extension JSONValue {
  /// The value as JSON in a line, cut to 80 characters.
  var quotedForMessage: String { String(decoding: text, as: UTF8.self).quotableStart }
}

/// An error of a test file, with its place.
struct TestFileError: Error, Hashable, CustomStringConvertible {
  let file: String
  let place: TextPlace
  /// A sentence that says what was expected.
  let reason: String

  var description: String { "\(file):\(place): \(reason)" }
}
