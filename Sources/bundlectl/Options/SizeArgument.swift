import ArgumentParser
import PageKit

/// A size, as it is typed: bytes, or with a unit of powers of 1024: `256MB`, `1.5GB`.
struct SizeArgument: ExpressibleByArgument, Hashable {
  let bytes: Int64

  init?(argument: String) {
    guard let bytes = Int64(size: argument) else { return nil }
    self.bytes = bytes
  }
}
