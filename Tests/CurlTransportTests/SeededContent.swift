import PageTesting
import Testing

/// Content in which every mistake shows, of any size and cheap to make: random blocks, each with its number.
enum SeededContent {
  static func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var generator = SeededGenerator(seed: seed)
    let block = generator.bytes(min(count, 64 << 10))
    guard count > block.count else { return block }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + block.count)
    var number: UInt32 = 0
    while bytes.count < count {
      withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
      bytes.append(contentsOf: block)
      number += 1
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }
}

/// Compares large bodies; a failure reports their sizes and the first difference, not their bytes.
func expectSame(_ found: [UInt8], _ expected: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
  guard found != expected else { return }
  let parting = zip(found, expected).enumerated().first { $0.element.0 != $0.element.1 }?.offset
  Issue.record(
    "\(found.count) bytes instead of \(expected.count), different from byte \(parting ?? min(found.count, expected.count))",
    sourceLocation: sourceLocation)
}
