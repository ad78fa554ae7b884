import ArgumentParser
import PageKit

/// A size argument: bytes, or a number with a unit of powers of 1024, such as `256MB` or `1.5GB`.
struct SizeArgument: ExpressibleByArgument, Hashable {
  let bytes: Int64

  /// The forms that are read, for messages.
  static let form = "bytes, such as 65536, or a number with a unit of powers of 1024, such as 512KB, 256MB or 1.5GB"

  var defaultValueDescription: String {
    for (unit, size) in [("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)] as [(String, Int64)]
    where bytes >= size && bytes % size == 0 {
      return "\(bytes / size)\(unit)"
    }
    return "\(bytes)"
  }

  init(bytes: Int64) { self.bytes = bytes }

  init?(argument: String) {
    guard let bytes = Int64(size: argument) else { return nil }
    self.bytes = bytes
  }
}
