/// The limits of a JSON text's depth and number of values. Its size in bytes is limited by the code that receives it.
package struct JSONLimits: Hashable, Sendable {
  /// The largest nesting depth of arrays and objects; 64 by default. Reading needs no stack for nesting, but code that
  /// traverses a value does: some thousands are too many.
  package var depth: Int
  /// The largest number of values, including members and elements; 250,000 by default.
  package var values: Int

  package init(depth: Int = 64, values: Int = 250_000) {
    self.depth = depth
    self.values = values
  }

  package static let standard = JSONLimits()
}

/// The reason why a text is not valid JSON, with the place of the first fault.
package struct JSONError: Error, Hashable, CustomStringConvertible {
  /// The number of bytes before the fault.
  package let offset: Int
  /// The line of the fault, from 1.
  package let line: Int
  /// A sentence that names the expected and the found text.
  package let reason: String

  package init(offset: Int, in bytes: [UInt8], _ reason: String) {
    self.offset = offset
    line = 1 + bytes.prefix(offset).count { $0 == UInt8(ascii: "\n") }
    self.reason = reason
  }

  package var description: String {
    line == 1 ? "\(reason) at byte \(offset)" : "\(reason) at byte \(offset), in line \(line)"
  }
}
