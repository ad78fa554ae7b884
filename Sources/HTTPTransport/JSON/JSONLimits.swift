/// How deep and how large a JSON text may be. Its bytes are bounded by the code that receives them.
public struct JSONLimits: Hashable, Sendable {
  /// How many arrays and objects may lie within each other; 64 unless told. Reading needs no stack for them, but
  /// whatever walks a value does: some thousands are too many.
  public var depth: Int
  /// How many values a text may have, those of members and elements included; 250,000 unless told.
  public var values: Int

  public init(depth: Int = 64, values: Int = 250_000) {
    self.depth = depth
    self.values = values
  }

  public static let standard = JSONLimits()
}

/// Why a text was refused as JSON, with the place of the first fault.
public struct JSONError: Error, Hashable, CustomStringConvertible {
  /// Bytes before the fault.
  public let offset: Int
  /// The line of the fault, from 1.
  public let line: Int
  /// A sentence that says what was expected there and what was found.
  public let reason: String

  package init(offset: Int, in bytes: [UInt8], _ reason: String) {
    self.offset = offset
    line = 1 + bytes.prefix(offset).count { $0 == UInt8(ascii: "\n") }
    self.reason = reason
  }

  public var description: String {
    line == 1 ? "\(reason) at byte \(offset)" : "\(reason) at byte \(offset), in line \(line)"
  }
}
