import HTTPTransport

/// A place among the transfers to an origin, for a connection that somebody else makes. It is given back when it is let
/// go of.
package final class OriginPlace: Sendable {
  private let url: PageURL
  private let pass: TransferGate.Pass
  private let reachability: Reachability

  fileprivate init(_ url: PageURL, _ pass: TransferGate.Pass, _ reachability: Reachability) {
    (self.url, self.pass, self.reachability) = (url, pass, reachability)
  }

  /// The origin has answered.
  package func succeeded() { reachability.recordSuccess(url) }

  /// There was no answer.
  package func failed(_ error: any Error) { reachability.record(error, for: url) }
}

extension ResourceLoader {
  /// Waits for a place among the transfers to an origin.
  ///
  /// - Throws: ``LoadError/offline(_:)`` while the origin is left alone, ``LoadError/busy(_:limit:)``, `CancellationError`.
  package func place(at url: PageURL) async throws -> OriginPlace {
    guard reachability.admits(url) else { throw LoadError.offline(url) }
    do {
      return OriginPlace(url, try await gate.enter(gate.number(), priority: .normal), reachability)
    } catch let full as TransferGate.Full {
      throw LoadError.busy(url, limit: full.limit)
    }
  }
}
