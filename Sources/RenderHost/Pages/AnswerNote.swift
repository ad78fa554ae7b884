import PageKit

/// Hears that something was answered: what kind of thing, and what it was taken from, as `renderhost_answers` has them.
typealias AnswerNote = @Sendable (_ kind: String, _ source: String) -> Void

extension Loaded.Source {
  /// As `renderhost_answers` has it.
  var name: String {
    switch self {
    case .memory: "memory"
    case .disk, .release, .local: "disk"
    case .revalidated: "revalidated"
    case .network: "network"
    }
  }
}
