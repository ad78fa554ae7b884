import SystemPackage

extension FileDescriptor {
  /// Reads `count` bytes from a position; fewer only at the file's end.
  ///
  /// - Throws: `Errno`.
  package func readChunk(at position: Int64, count: Int) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let target = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
        let read = try self.read(fromAbsoluteOffset: position + Int64(filled), into: target)
        if read == 0 { break }
        filled += read
      }
    }
  }
}
