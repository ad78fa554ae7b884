import HTTPTransport

/// A message that a page has shown, or a question that it has asked, with the module `modal`.
public struct PageMessage: Hashable, Sendable, Codable {
  /// The method that the script called.
  package enum Kind: String, Hashable, Sendable, Codable {
    /// A method of the module `modal`.
    case toast, alert, confirm, prompt
  }

  /// The method that the script called.
  package let kind: Kind
  /// The message or the question.
  public let text: String
  /// The titles of the buttons; empty for a toast.
  public internal(set) var buttons: [String] = []
  /// The text that a prompt has filled in; `nil` for other kinds.
  public internal(set) var preset: String?

  /// In one line: `toast: Saved`, `confirm: Delete it? [OK] [Cancel]`.
  package var outlineText: String {
    let typed = preset.map { $0.isEmpty ? "" : " (\($0))" } ?? ""
    return "\(kind): \(text)\(typed)" + buttons.map { " [\($0)]" }.joined()
  }

  /// The message as JSON, for workers and reports.
  package var json: JSONValue {
    var members: [String: JSONValue] = ["kind": .string(kind.rawValue), "text": .string(text)]
    if !buttons.isEmpty { members["buttons"] = .array(buttons.map { .string($0) }) }
    if let preset { members["preset"] = .string(preset) }
    return .object(members)
  }
}
