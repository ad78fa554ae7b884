import ArgumentParser
import PageKit

/// A size argument: bytes, or a number with a unit of powers of 1024, such as `256MB` or `1.5GB`.
struct SizeArgument: ExpressibleByArgument, Hashable {
  let bytes: Int64

  init?(argument: String) {
    guard let bytes = Int64(size: argument) else { return nil }
    self.bytes = bytes
  }
}
