import HTTPTransport
import PageKit
import Publishing
import Releases

extension Error {
  /// The error in words, with the command or the option that helps.
  var message: String { sentence + (advice ?? "") }

  /// The end of the sentence, which names the command or the option that helps; `nil` if there is none. The errors of the
  /// library do not know of this program.
  var advice: String? {
    let error: any Error = self
    return switch error {
    case StoreError.newerVersion, StoreError.foreignDatabase: " with --store"
    case StoreError.notWritable(_, let reason) where reason.hasSuffix("name another folder"): " with --store"
    case StoreError.absent, StoreError.incompleteRelease: ": run \"bundlectl preload\" first"
    case StoreError.badRelease(let name): ": \"bundlectl release mark \(name) trial\" gives it another trial"
    case KeyError.unreadable, KeyError.notEd25519, KeyError.weak: ": make one with \"bundlectl key new\""
    case TrustError.noStatus: ": make one with \"bundlectl manifest status\""
    case TrustError.foreign: ": build one with \"bundlectl manifest build\""
    case SourceError.untrusted(_, let cause): cause.advice
    case PublishError.nothingPublished(let location): ": run \"bundlectl publish DIR \(location)\" first"
    case PublishError.noRelease(let location, _): ": \"bundlectl releases \(location)\" shows what it has"
    default: nil
    }
  }
}
