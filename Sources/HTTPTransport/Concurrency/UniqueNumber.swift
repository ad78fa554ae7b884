import Synchronization

/// Numbers that are unique, not secret: no two of a process are the same, and those of two processes hardly ever are.
///
/// They are computed, since each of the system's random numbers costs a system call.
package enum UniqueNumber {
  /// A random start, so that processes have different numbers.
  private static let seed = UInt64.random(in: .min ... .max)
  private static let count = Atomic<UInt64>(0)

  /// Returns 64 bits that look random.
  package static func next() -> UInt64 {
    mixed(seed &+ count.add(1, ordering: .relaxed).newValue &* 0x9E37_79B9_7F4A_7C15)
  }

  /// SplitMix64's last step, a bijection.
  private static func mixed(_ number: UInt64) -> UInt64 {
    var mixed = number
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
