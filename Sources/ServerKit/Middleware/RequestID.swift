import Synchronization

/// Makes unique, not secret, ids for requests without a client's id.
enum RequestID {
  /// A random start, so that processes have different ids.
  private static let seed = UInt64.random(in: .min ... .max)
  private static let count = Atomic<UInt64>(0)

  /// 16 hexadecimal digits. They are computed, since the system's random numbers would cost each request a system call.
  static func next() -> String {
    let number = count.add(1, ordering: .relaxed).newValue
    return hex(mixed(seed &+ number &* 0x9E37_79B9_7F4A_7C15))
  }

  /// SplitMix64's last step, a bijection.
  private static func mixed(_ number: UInt64) -> UInt64 {
    var mixed = number
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  private static func hex(_ number: UInt64) -> String {
    String(unsafeUninitializedCapacity: 16) { bytes in
      for index in 0..<16 {
        let digit = UInt8(truncatingIfNeeded: number >> UInt64(60 - 4 * index)) & 15
        bytes[index] = digit < 10 ? 48 + digit : 87 + digit
      }
      return 16
    }
  }
}
