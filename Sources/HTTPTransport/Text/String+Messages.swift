extension String {
  /// The text for a message: quoted, without control characters, cut to 80.
  package var quotedForMessage: String { "\"\(withoutCredentials.quotableStart)\"" }

  /// The text without a URL's user and password, which must not appear in messages.
  private var withoutCredentials: String {
    guard let start = firstRange(of: "//")?.upperBound else { return self }
    let authority = self[start...].prefix { !"/?#".contains($0) }
    guard let end = authority.lastIndex(of: "@") else { return self }
    return self[..<start] + "…" + self[end...]
  }

  /// The first 80 characters, without control characters.
  package var quotableStart: String {
    let clean = String(
      String.UnicodeScalarView(
        unicodeScalars.prefix(81).map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }))
    return clean.unicodeScalars.count > 80 ? String(clean.prefix(80)) + "…" : clean
  }
}
