import CLinux
import Foundation

/// The system calls that are allowed, with conditions on their arguments, as a program for seccomp's filter. Every
/// thread that is made later has it too.
struct SystemCallFilter {
  enum Action {
    case allow
    /// The call fails with this error.
    case fail(Int32)
    /// The thread gets `SIGSYS`, whose handler deals with the call.
    case trap

    fileprivate var code: UInt32 {
      switch self {
      case .allow: pk_seccomp_allow
      case .fail(let error): pk_seccomp_errno | UInt32(error)
      case .trap: pk_seccomp_trap
      }
    }
  }

  /// Holds if the bits of an argument in `mask` equal those of `value`.
  struct Condition {
    let argument: UInt32
    let mask: UInt64
    let value: UInt64

    /// Compares the lower half of an argument, as the kernel does for an `int`.
    static func int(_ argument: UInt32, is value: Int32) -> Condition {
      Condition(argument: argument, mask: 0xffff_ffff, value: UInt64(UInt32(bitPattern: value)))
    }

    /// Holds if an `int` has no bits other than these.
    static func int(_ argument: UInt32, within bits: Int32) -> Condition {
      Condition(argument: argument, mask: UInt64(~UInt32(bitPattern: bits)), value: 0)
    }

    /// Holds if a pointer is null, or a long is 0.
    static func isZero(_ argument: UInt32) -> Condition { Condition(argument: argument, mask: .max, value: 0) }
  }

  private var program: [sock_filter] = []

  /// A filter that refuses every call with `EPERM`. Calls that are newer than the ones this program knows do not exist,
  /// so that a newer C library falls back to older ones.
  init() {
    // struct seccomp_data: the call's number, the architecture, the instruction's address, the arguments.
    program.append(Self.load(4))
    program.append(Self.jump(BPF_JEQ, pk_audit_arch, 1, 0))
    program.append(Self.end(.fail(EPERM)))
    program.append(Self.load(0))
    #if arch(x86_64)
      // Calls of the x32 architecture have the same numbers with a bit more.
      program.append(Self.jump(BPF_JGE, 0x4000_0000, 0, 1))
      program.append(Self.end(.fail(EPERM)))
    #endif
    program.append(Self.jump(BPF_JGT, UInt32(SYS_landlock_restrict_self), 0, 1))
    program.append(Self.end(.fail(ENOSYS)))
  }

  mutating func add(_ calls: [Int32], _ action: Action = .allow) {
    for call in calls {
      program.append(Self.jump(BPF_JEQ, UInt32(call), 0, 1))
      program.append(Self.end(action))
    }
  }

  /// Adds a call with conditions that must all hold. All rules of one call are given at once: the first that fits
  /// counts, and the call is refused if none does.
  mutating func add(_ call: Int32, when rules: ([Condition], Action)...) {
    let tests = rules.flatMap(Self.test) + [Self.end(.fail(EPERM))]
    program.append(Self.jump(BPF_JEQ, UInt32(call), 0, UInt8(tests.count)))
    program += tests
  }

  /// Leads to the action if all conditions hold, else behind it.
  private static func test(_ conditions: [Condition], _ action: Action) -> [sock_filter] {
    var test = [end(action)]
    for condition in conditions.reversed() {
      // Little-endian: the lower half first.
      for half in [UInt32(1), 0] {
        let mask = UInt32(truncatingIfNeeded: condition.mask >> (32 * UInt64(half)))
        guard mask != 0 else { continue }
        let value = UInt32(truncatingIfNeeded: condition.value >> (32 * UInt64(half)))
        test =
          [
            load(16 + 8 * condition.argument + 4 * half), instruction(BPF_ALU | BPF_AND | BPF_K, mask),
            jump(BPF_JEQ, value, 0, UInt8(test.count)),
          ] + test
      }
    }
    return test
  }

  /// Holds for this thread and those it starts.
  ///
  /// - Returns: the reason of a failure; `nil` on success.
  func install() -> String? {
    #if !arch(x86_64) && !arch(arm64)
      return "seccomp: the system calls of this processor are unknown"
    #endif
    var program = program
    program.append(Self.end(.fail(EPERM)))
    let result = program.withUnsafeMutableBufferPointer { instructions in
      var whole = sock_fprog(len: UInt16(instructions.count), filter: instructions.baseAddress)
      return withUnsafeMutablePointer(to: &whole) {
        pk_syscall3(
          Int(SYS_seccomp), Int(SECCOMP_SET_MODE_FILTER), 0, Int(bitPattern: $0))
      }
    }
    return Confinement.failure(Int32(result)).map { "seccomp: \($0)" }
  }

  private static func load(_ offset: UInt32) -> sock_filter { instruction(BPF_LD | BPF_W | BPF_ABS, offset) }
  private static func end(_ action: Action) -> sock_filter { instruction(BPF_RET | BPF_K, action.code) }

  private static func jump(_ test: Int32, _ value: UInt32, _ isTrue: UInt8, _ isFalse: UInt8) -> sock_filter {
    sock_filter(code: UInt16(BPF_JMP | test | BPF_K), jt: isTrue, jf: isFalse, k: value)
  }

  private static func instruction(_ code: Int32, _ value: UInt32) -> sock_filter {
    sock_filter(code: UInt16(code), jt: 0, jf: 0, k: value)
  }
}
