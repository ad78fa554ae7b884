import HTTPTypes

/// Whether a response may be kept, and what of it. RFC 9111 §3.
public enum StorageDecision: Equatable, Sendable {
  /// With the response's fields that may be stored, as an answer of this status. RFC 9111 §3.1.
  case store(status: Int, HTTPFields)
  /// The same for a part of a representation. RFC 9111 §3.3.
  case storePart(ContentRange, HTTPFields)
  case refuse(Refusal)

  /// Why a response is not kept.
  public enum Refusal: String, Hashable, Sendable {
    case method = "answers to this method are not kept"
    case interim = "an interim answer is none"
    case notUnderstood = "the status is not understood"
    case requestNoStore = "the request says no-store"
    case responseNoStore = "the response says no-store"
    case isPrivate = "the response is private"
    case setsCookie = "the response sets a cookie, which is for one client alone"
    case authorized = "the request was authorised, and the response does not allow sharing"
    case varies = "the response says Vary: *"
    case nothingAllows = "nothing makes the status cacheable"

    /// Where the rule stands.
    public var clause: String {
      switch self {
      case .requestNoStore: "RFC 9111 §5.2.1.5"
      case .responseNoStore: "RFC 9111 §5.2.2.5"
      case .isPrivate: "RFC 9111 §5.2.2.7"
      case .setsCookie: "RFC 9111 §7.3"
      case .authorized: "RFC 9111 §3.5"
      case .varies: "RFC 9111 §4.1"
      case .method, .interim, .notUnderstood, .nothingAllows: "RFC 9111 §3"
      }
    }
  }
}
