import Foundation

/// The address space of the process, which `ulimit -v` limits. With too little of it, threads cannot be started and
/// libraries fail where nothing can say why: with 200 to 400 MB, preloads of one bundle crashed or hung in some runs.
package enum AddressSpace {
  /// The minimum for a program that fetches or serves, in bytes.
  package static let least = 512 << 20

  /// The limit in bytes, which child processes inherit; `nil` for no limit.
  package static var limit: Int? {
    var limit = rlimit()
    #if os(Linux)
      let found = getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    #else
      let found = getrlimit(RLIMIT_AS, &limit)
    #endif
    // RLIM_INFINITY is the largest number.
    return found != 0 || limit.rlim_cur == .max ? nil : Int(clamping: limit.rlim_cur)
  }

  /// Returns the reason why a limit is too low; `nil` if it is not.
  ///
  /// - Parameter least: the bytes that are needed.
  package static func problem(of limit: Int? = Self.limit, least: Int = Self.least) -> String? {
    guard let limit, limit < least else { return nil }
    return
      "the address space of the process is limited to \(limit >> 20) MiB, and it needs \(least >> 20) MiB: raise the "
      + "limit to \(least >> 10) or more with ulimit -v"
  }
}
