import ScriptEngine

extension ScriptException {
  /// What the scripts that devices run before a bundle of Rax define, and no framework does.
  private static let preludeNames: Set<String> = [
    "window", "document", "define", "require", "__weex_define__", "__weex_require__",
  ]

  /// Whether a bundle of this type fails since there was no prelude before it.
  func asksForPrelude(of type: BundleType) -> Bool {
    // As JavaScriptCore says it: "ReferenceError: Can't find variable: window".
    guard type == .rax, let start = message.firstRange(of: "Can't find variable: ")?.upperBound else { return false }
    return Self.preludeNames.contains(String(message[start...].prefix { !$0.isWhitespace }))
  }
}
