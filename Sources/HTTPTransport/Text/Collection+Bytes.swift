extension Collection<UInt8> {
  /// Calls a function with the bytes in memory, which are copied only if they do not lie there one after the other. Steps
  /// through a collection of unknown type would cost a call each.
  func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    withContiguousStorageIfAvailable(body) ?? Array(self).withUnsafeBufferPointer(body)
  }
}
