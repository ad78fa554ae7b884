import Blobs
import Bundles
import HTTPTransport
import Releases

// The libraries' errors name neither a program nor an option. `bundlectl` and `renderhost` show them with this table.

extension Error {
  /// The error in words, with the command or the option that helps.
  package var message: String { sentence + (advice ?? "") }

  /// The end of the sentence, which names the command or the option that helps; `nil` if there is none.
  package var advice: String? {
    let error: any Error = self
    return switch error {
    case StoreError.newerVersion, StoreError.foreignDatabase, StoreError.foreignFile: " with --store"
    case StoreError.absent, StoreError.incompleteRelease: ": run \"bundlectl preload\" first"
    case StoreError.badRelease(let name): ": \"bundlectl release mark \(name) trial\" gives it another trial"
    case KeyError.unreadable, KeyError.notEd25519, KeyError.weak: ": make one with \"bundlectl key new\""
    case TrustError.noStatus: ": make one with \"bundlectl manifest status\""
    case TrustError.foreign: ": build one with \"bundlectl manifest build\""
    case SourceError.untrusted(_, let cause): cause.advice
    default: nil
    }
  }
}

extension PreloadReport.Failure {
  /// The reason in words, with the command or the option that helps.
  package var message: String {
    guard let cause, cause.advice != nil else { return error }
    return error.replacing(cause.sentence, with: cause.message)
  }
}
