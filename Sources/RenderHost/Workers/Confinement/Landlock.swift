import CLinux
import Foundation

/// Landlock: the process itself says which files it may reach from now on.
enum Landlock {
  /// - Parameter readable: files that can still be read; all others cannot be reached in any way.
  /// - Returns: why it could not be had; nil where it holds.
  static func restrict(readable: [String]) -> String? {
    let version = pk_syscall3(Int(SYS_landlock_create_ruleset), 0, 0, Int(LANDLOCK_CREATE_RULESET_VERSION))
    guard version > 0 else { return "Landlock: \(String(cString: strerror(errno)))" }
    // Rights by the version that brought them: 13 in the first, then REFER, TRUNCATE, and IOCTL_DEV in the fifth.
    let rights: UInt64 = version >= 5 ? 0xffff : version >= 3 ? 0x7fff : version == 2 ? 0x3fff : 0x1fff
    // The second word has the network's rights, TCP's bind and connect, since version 4.
    var attributes: [UInt64] = version >= 4 ? [rights, 3] : [rights]
    let size = attributes.count * 8
    let ruleset = attributes.withUnsafeMutableBytes {
      Int32(pk_syscall3(Int(SYS_landlock_create_ruleset), Int(bitPattern: $0.baseAddress), size, 0))
    }
    guard ruleset >= 0 else { return "Landlock: \(String(cString: strerror(errno)))" }
    defer { close(ruleset) }
    for path in readable {
      if let failure = allow(path, in: ruleset) { return "\(path): \(failure)" }
    }
    let result = pk_syscall3(Int(SYS_landlock_restrict_self), Int(ruleset), 0, 0)
    return Confinement.failure(Int32(result)).map { "Landlock: \($0)" }
  }

  private static func allow(_ path: String, in ruleset: Int32) -> String? {
    let descriptor = open(path, 0o10000000 | O_CLOEXEC)  // O_PATH
    guard descriptor >= 0 else { return String(cString: strerror(errno)) }
    defer { close(descriptor) }
    // struct landlock_path_beneath_attr is packed: 8 bytes of rights, 4 of the descriptor.
    var rule = [UInt8](repeating: 0, count: 12)
    rule[0] = UInt8(LANDLOCK_ACCESS_FS_READ_FILE)
    withUnsafeBytes(of: descriptor) { rule.replaceSubrange(8..<12, with: $0) }
    let result = rule.withUnsafeMutableBytes {
      pk_syscall4(
        Int(SYS_landlock_add_rule), Int(ruleset), Int(LANDLOCK_RULE_PATH_BENEATH.rawValue),
        Int(bitPattern: $0.baseAddress), 0)
    }
    return Confinement.failure(Int32(result))
  }
}
