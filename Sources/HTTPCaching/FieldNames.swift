/// A set of field names, which most other names are told apart from by their length alone.
package struct FieldNames: ExpressibleByArrayLiteral, Sendable {
  private let names: Set<String>
  /// The bit of each length that a name has, in bytes.
  private let lengths: UInt64

  /// - Parameter names: lower-case names of fewer than 64 bytes each.
  package init(arrayLiteral names: String...) {
    self.names = Set(names)
    lengths = names.reduce(0) { $0 | 1 << UInt64($1.utf8.count) }
  }

  /// - Parameter name: a lower-case name.
  package func contains(_ name: String) -> Bool {
    lengths & 1 << UInt64(name.utf8.count) != 0 && names.contains(name)
  }
}
