import Foundation
import Testing

/// The errors of the products' modules are documented, and can be matched.
struct ErrorTests {
  /// The modules whose declarations an app sees.
  private static let modules = [
    "Bundles", "CurlTransport", "Blobs", "HTTPCache", "HTTPCaching", "HTTPTransport", "PageKit", "PageLayout",
    "PagePictures", "PageRuntime", "PageTesting", "Releases", "ScriptEngine",
  ]

  /// Errors that an app can match although no module of ours declares them.
  private static let known: Set<String> = ["CancellationError", "DecodingError", "EncodingError"]

  /// A public function that throws, with its documentation.
  struct ThrowingFunction: Sendable, CustomTestStringConvertible {
    let place: String
    let declaration: String
    let documentation: String

    var testDescription: String { place }

    /// The text after `- Throws:`; `nil` if there is none.
    var errors: Substring? { documentation.firstRange(of: "- Throws:").map { documentation[$0.upperBound...] } }
  }

  private static func sources() throws -> [(path: String, lines: [String])] {
    try modules.flatMap { try Document.paths(in: "Sources/\($0)", ending: ".swift") }.map {
      ($0, try Document($0).lines)
    }
  }

  /// Whether a declaration throws itself, and not only a function that it takes or returns.
  static func isThrowing(_ declaration: String) -> Bool {
    var depth = 0
    var outside = ""
    for character in declaration {
      if "([".contains(character) { depth += 1 }
      if depth == 0 { outside.append(character) }
      if ")]".contains(character) { depth -= 1 }
    }
    return outside.prefix { $0 != "{" }.contains(/\bthrows\b/)
  }

  static func functions(of path: String, _ lines: [String]) -> [ThrowingFunction] {
    lines.indices.compactMap { index in
      // Most lines are neither, and an expression takes long to say so.
      guard ["public ", "open "].contains(where: { lines[index].contains($0) }),
        lines[index].contains(/^ *(@\w+(\([^)]*\))? )*(public|open) [^=]*\b(func|init)\b/)
      else { return nil }
      // To the brace that opens the body, which is the last character of its line, or to the end of a body on one line.
      let end = lines[index...].firstIndex { $0.hasSuffix("{") || $0.contains(/\{.*\}$/) } ?? index
      let declaration = lines[index...min(end, index + 12)].joined(separator: " ")
      guard isThrowing(declaration) else { return nil }
      let above = lines[..<index].reversed().prefix { $0.contains(/^ *(\/\/\/|@)/) }.reversed()
      return ThrowingFunction(
        place: "\(path):\(index + 1)", declaration: declaration, documentation: above.joined(separator: "\n"))
    }
  }

  private static func functions() throws -> [ThrowingFunction] {
    try sources().flatMap { functions(of: $0.path, $0.lines) }
  }

  /// The names of errors that the modules declare as public.
  private static func publicErrors() throws -> Set<String> {
    let declarations = try sources().flatMap(\.lines).filter { $0.hasPrefix("public ") }.compactMap {
      $0.firstMatch(of: /^public (?:enum|struct) (\w+): .*\bError\b/)
    }
    return Set(declarations.map { String($0.1) })
  }

  @Test("every public function that throws names its errors, which are public")
  func everyErrorIsNamed() throws {
    let functions = try Self.functions()
    #expect(functions.count > 50)
    let allowed = try Self.publicErrors().union(Self.known)
    for function in functions {
      let text = String(try #require(function.errors, "\(function.place) does not say what it throws"))
      let named = text.matches(of: /`(\w+(?:Error|Fault))(?!\w)/).map { String($0.1) }
      let isPassedOn = text.contains("the error of") || text.contains("errors of")
      #expect(!named.isEmpty || isPassedOn, "\(function.place) names no error: \(text)")
      #expect(Set(named).isSubset(of: allowed), "\(function.place) names an error that is not public: \(text)")
    }
  }

  @Test("a function does not throw because an argument or a result of it may")
  func throwingArguments() {
    #expect(!Self.isThrowing("public init(next: @escaping () async throws -> [UInt8]?) {"))
    #expect(Self.isThrowing("public func run(_ body: () throws -> Void) async throws -> Int {"))
  }

  @Test("the libraries' texts name neither a program nor its options")
  func noPrograms() throws {
    let more = try Document.paths(in: "Sources/Publishing", ending: ".swift").map {
      (path: $0, lines: try Document($0).lines)
    }
    for (path, lines) in try Self.sources() + more {
      for (index, line) in lines.enumerated() where line.contains("bundlectl") || line.contains("--store") {
        #expect(line.drop { $0 == " " }.hasPrefix("//"), "\(path):\(index + 1)")
      }
    }
  }
}
