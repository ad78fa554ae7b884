import ScriptEngine

extension ScriptException {
  /// The names that only the scripts define that devices run before a bundle of Rax.
  private static let preludeNames: Set<String> = [
    "window", "document", "define", "require", "__weex_define__", "__weex_require__",
  ]

  /// Returns `true` if a bundle of this type fails because no prelude ran before it.
  func asksForPrelude(of type: BundleType) -> Bool {
    // As JavaScriptCore says it: "ReferenceError: Can't find variable: window".
    guard type == .rax, let start = message.firstRange(of: "Can't find variable: ")?.upperBound else { return false }
    return Self.preludeNames.contains(String(message[start...].prefix { !$0.isWhitespace }))
  }
}
