import CLinux
import Foundation

/// Landlock: the process restricts the files and processes that it can reach.
enum Landlock {
  /// The rights that a kernel can refuse, by the version of its Landlock.
  struct Ruleset: Hashable {
    /// `struct landlock_ruleset_attr`: files, network, scopes; as many words as the version knows.
    let words: [UInt64]

    /// - Parameter version: the version of the kernel; below 1 without Landlock.
    init?(version: Int) {
      guard version >= 1 else { return nil }
      // Rights by the version that brought them: 13 in the first, then REFER, TRUNCATE, and IOCTL_DEV in the fifth.
      let files: UInt64 = version >= 5 ? 0xffff : version >= 3 ? 0x7fff : version == 2 ? 0x3fff : 0x1fff
      // TCP's bind and connect.
      let network: UInt64 = 3
      // Abstract sockets of others, and signals to them.
      let scopes: UInt64 = 3
      words = version >= 6 ? [files, network, scopes] : version >= 4 ? [files, network] : [files]
    }

    /// `true` if signals to other processes are refused.
    var refusesSignals: Bool { words.count > 2 }
  }

  /// The version that the kernel has; below 1 with `errno` set if it has none.
  static var version: Int {
    pk_syscall3(Int(SYS_landlock_create_ruleset), 0, 0, Int(LANDLOCK_CREATE_RULESET_VERSION))
  }

  /// - Parameter readable: descriptors of the files that can still be read, and of folders whose files can; all others
  ///   cannot be reached in any way.
  /// - Returns: the reason of a failure; `nil` on success.
  static func restrict(_ ruleset: Ruleset, readable: [Int32]) -> String? {
    var words = ruleset.words
    let size = words.count * MemoryLayout<UInt64>.size
    let descriptor = words.withUnsafeMutableBytes {
      Int32(pk_syscall3(Int(SYS_landlock_create_ruleset), Int(bitPattern: $0.baseAddress), size, 0))
    }
    guard descriptor >= 0 else { return "Landlock: \(String(cString: strerror(errno)))" }
    defer { close(descriptor) }
    for file in readable {
      if let failure = allow(file, in: descriptor) { return "Landlock: \(failure)" }
    }
    let result = pk_syscall3(Int(SYS_landlock_restrict_self), Int(descriptor), 0, 0)
    return Confinement.failure(Int32(result)).map { "Landlock: \($0)" }
  }

  private static func allow(_ file: Int32, in ruleset: Int32) -> String? {
    // struct landlock_path_beneath_attr is packed: 8 bytes of rights, 4 of the descriptor.
    var rule = [UInt8](repeating: 0, count: 12)
    rule[0] = UInt8(LANDLOCK_ACCESS_FS_READ_FILE)
    withUnsafeBytes(of: file) { rule.replaceSubrange(8..<12, with: $0) }
    let result = rule.withUnsafeMutableBytes {
      pk_syscall4(
        Int(SYS_landlock_add_rule), Int(ruleset), Int(LANDLOCK_RULE_PATH_BENEATH.rawValue),
        Int(bitPattern: $0.baseAddress), 0)
    }
    return Confinement.failure(Int32(result))
  }
}
