import Foundation

/// Tests of endurance: few rounds in `make test`, many in `make soak`.
package enum Soak {
  /// - Parameters:
  ///   - short: the number of rounds in `make test`.
  ///   - long: the number of rounds if `PAGEKIT_SOAK` is set.
  package static func rounds(_ short: Int, soaking long: Int) -> Int {
    ProcessInfo.processInfo.environment["PAGEKIT_SOAK"] == nil ? short : long
  }
}
