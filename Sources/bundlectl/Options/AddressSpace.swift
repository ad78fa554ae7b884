import DiskStorage

extension AddressSpace {
  /// The minimum for a command that fetches nothing, in bytes.
  static let leastToRun = 256 << 20

  /// - Throws: ``CommandError`` if the limit is too low for a command that fetches something.
  static func check() throws {
    if let problem = problem() { throw CommandError(problem) }
  }
}
