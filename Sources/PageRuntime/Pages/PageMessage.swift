import HTTPTransport

/// A message that a page has shown with the module `modal`, or a question it has asked.
public struct PageMessage: Hashable, Sendable, Codable {
  public enum Kind: String, Hashable, Sendable, Codable {
    case toast, alert, confirm, prompt
  }

  public let kind: Kind
  public let text: String
  /// The titles of the buttons; a toast has none.
  public internal(set) var buttons: [String] = []
  /// What is filled in beforehand where something is to be typed.
  public internal(set) var preset: String?

  /// In one line: `toast: Saved`, `confirm: Delete it? [OK] [Cancel]`.
  package var outlineText: String {
    let typed = preset.map { $0.isEmpty ? "" : " (\($0))" } ?? ""
    return "\(kind): \(text)\(typed)" + buttons.map { " [\($0)]" }.joined()
  }

  package var json: JSONValue {
    var members: [String: JSONValue] = ["kind": .string(kind.rawValue), "text": .string(text)]
    if !buttons.isEmpty { members["buttons"] = .array(buttons.map { .string($0) }) }
    if let preset { members["preset"] = .string(preset) }
    return .object(members)
  }
}
