import HTTPTypes

/// Collects field lines one by one.
struct FieldLines {
  private(set) var fields = HTTPFields()
  private var lastName: HTTPField.Name?
  /// `true` if libcurl may read a line with the body's length differently: it does not unfold lines, and does not
  /// recognise names with a space before the colon.
  private(set) var hasUnclearFraming = false

  private static let framing: Set<HTTPField.Name> = [.contentLength, .transferEncoding]

  mutating func append(_ line: String) {
    if let first = line.first, first == " " || first == "\t" {
      // RFC 9112 §5.2: a folded line continues the field before it, after one space.
      guard let lastName, let last = fields.lastIndex(where: { $0.name == lastName }) else { return }
      fields[last].value += " " + line.trimmingSpaces
      if Self.framing.contains(lastName) { hasUnclearFraming = true }
      return
    }
    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    // RFC 9112 §5.1: a proxy removes the space before a colon; the field is valid.
    guard parts.count == 2, let name = HTTPField.Name(String(parts[0]).trimmingTrailingSpaces) else {
      lastName = nil
      return
    }
    fields.append(HTTPField(name: name, value: String(parts[1]).trimmingSpaces))
    lastName = name
    if Self.framing.contains(name), parts[0].utf8.count != name.rawName.utf8.count { hasUnclearFraming = true }
  }
}

extension String {
  fileprivate var trimmingSpaces: String {
    var text = Substring(trimmingTrailingSpaces)
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    return String(text)
  }

  fileprivate var trimmingTrailingSpaces: String {
    var text = Substring(self)
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return String(text)
  }
}
