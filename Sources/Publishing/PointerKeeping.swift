/// Keeps the pointer of releases beside a store that does not know conditions: what it has counts, and the store has a
/// copy.
package protocol PointerKeeping: Sendable {
  /// The pointer's bytes and their revision; `nil` if it has none.
  func pointer() async throws -> KeptPointer?

  /// - Parameter revision: the revision of the bytes that are replaced; `nil` if there are none.
  /// - Returns: `false` if there is another revision.
  func replacePointer(_ revision: UInt64?, with bytes: [UInt8]) async throws -> Bool
}

package struct KeptPointer: Hashable, Sendable {
  package let bytes: [UInt8]
  package let revision: UInt64

  package init(bytes: [UInt8], revision: UInt64) { (self.bytes, self.revision) = (bytes, revision) }
}
