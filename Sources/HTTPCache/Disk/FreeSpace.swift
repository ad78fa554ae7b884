import Synchronization

/// Tells if there is room on the file system, which is asked once a second at most while there is plenty.
final class FreeSpace: Sendable {
  private struct Look {
    /// Seconds since 1970.
    let time: Double
    /// Bytes that may be taken before the next look: half of what there was.
    var spare: Int64
  }

  /// The bytes that a response may take beside those of its files, an estimate: blocks, names, and pages of the index.
  private static let overhead: Int64 = 16 << 10

  private let last = Mutex<Look?>(nil)

  /// Returns how many bytes are missing for so many more; 0 or less if there are enough.
  ///
  /// - Parameters:
  ///   - size: bytes of files of new responses.
  ///   - limit: bytes that have to stay free.
  ///   - now: seconds since 1970.
  ///   - available: how many bytes are free.
  func missing(for size: Int64, above limit: Int64, at now: Double, _ available: () -> Int64) -> Int64 {
    last.withLock { last in
      let taken = size.addingReportingOverflow(Self.overhead)
      if let look = last, (look.time..<look.time + 1).contains(now), !taken.overflow, taken.partialValue <= look.spare {
        last?.spare -= taken.partialValue
        return 0
      }
      let (wanted, overflow) = limit.addingReportingOverflow(size)
      let free = max(0, available())
      let missing = (overflow ? .max : wanted) - free
      last = missing < 0 ? Look(time: now, spare: -missing / 2) : nil
      return missing
    }
  }
}
