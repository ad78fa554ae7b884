import Bundles
import HTTPTransport
import ScriptEngine

extension PageInstance {
  /// Says that the page works, so that its release is good at once. Of a page whose release is not on trial, or that shows
  /// another release since the first one failed, nothing follows.
  public func markReady() async { await trial?.ready() }

  /// Ends the trial of an opening that is over.
  func endTrial() {
    trial?.abandon()
    (trial, holdsFailures) = (nil, false)
  }

  /// Records a failure after the page had its tree.
  func noteFailure(_ error: PageError) {
    guard let trial, let failure = TrialFailure(error, page: trial.url) else { return }
    Task { _ = await trial.failed(failure) }
  }
}

extension TrialFailure {
  /// Returns `nil` for an error that says nothing about the release.
  init?(_ error: PageError, page: PageURL) {
    let kind: Kind
    switch error {
    case .script(_, .exception), .script(_, .wrongArgument), .script(_, .notPlainData): kind = .exception
    case .script(_, .timeLimit): kind = .timeLimit
    case .script(_, .memoryLimit): kind = .memoryLimit
    case .noFramework, .unknownFramework, .notABundle, .refused: kind = .exception
    case .script(_, .closed), .script(_, .engine), .invalidURL, .bundle, .destroyed, .superseded: return nil
    }
    let message: String
    if case .script(_, let script) = error { message = "\(script)" } else { message = "\(error)" }
    self.init(kind, page: page.text, message: message)
  }
}
