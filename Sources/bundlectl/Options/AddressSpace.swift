import Foundation

/// The limit of the process's address space (`ulimit -v`). With too little, threads and libraries fail where nothing can
/// say why: with 200 to 400 MB, preloads of one bundle crashed or hung in some runs.
enum AddressSpace {
  /// The least with which a command runs, in bytes.
  static let least: UInt64 = 256 << 20
  /// The least with which something is fetched, in bytes.
  static let leastToFetch: UInt64 = 512 << 20

  /// Returns the reason why the limit is too low; `nil` if it is not.
  ///
  /// - Parameter least: the bytes that are needed.
  static func problem(least: UInt64) -> String? {
    var limit = rlimit()
    #if os(Linux)
      let found = getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    #else
      let found = getrlimit(RLIMIT_AS, &limit)
    #endif
    // RLIM_INFINITY is the largest number.
    guard found == 0, limit.rlim_cur < least else { return nil }
    return
      "the address space of the process is limited to \(limit.rlim_cur >> 20) MiB, and it needs \(least >> 20) MiB: raise the limit to \(least >> 10) or more with ulimit -v"
  }

  /// - Throws: ``CommandError`` if the limit is too low for a command that fetches something.
  static func check() throws {
    if let problem = problem(least: leastToFetch) { throw CommandError(problem) }
  }
}
