import Foundation

/// What was to be seen, and whether it was.
struct Checks {
  private var failures = 0

  mutating func expect<Value: Equatable>(_ what: String, _ found: Value, _ expected: Value) {
    guard found != expected else { return print("ok      \(what)") }
    fail("\(what): expected \(expected), found \(found)")
  }

  mutating func fail(_ reason: String) {
    failures += 1
    print("FAILED  \(reason)")
  }

  /// Ends the process where something failed.
  func report() {
    if failures > 0 { exit(1) }
  }
}
