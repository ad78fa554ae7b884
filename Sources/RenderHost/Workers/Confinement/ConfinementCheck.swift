import CLinux
import Foundation

/// Tries what a worker must not be able to do, and tells what came of it: for tests and for operators.
enum ConfinementCheck {
  /// By what was tried: nil where it could be done, which it should not be.
  static func attempts() -> [String: String?] {
    [
      "connect": connecting(), "read /etc/passwd": opening("/etc/passwd", O_RDONLY),
      "read /proc/1/environ": opening("/proc/1/environ", O_RDONLY), "write": opening("/tmp/worker", O_WRONLY | O_CREAT),
      "exec": executing(), "fork": forking(),
      "ptrace": Confinement.failure(Int32(pk_syscall4(Int(SYS_ptrace), 0, 0, 0, 0))),
      "kill": Confinement.failure(kill(getppid(), 0)), "namespace": Confinement.failure(unshare(0x1000_0000)),
    ]
  }

  /// As JSON on standard output.
  static func run(_ report: ConfinementReport) -> Never {
    let attempts = attempts().mapValues { $0 ?? "done" }
    let result = Result(confinement: report, attempts: attempts)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    print((try? encoder.encode(result)).map { String(decoding: $0, as: UTF8.self) } ?? "{}")
    exit(attempts.values.contains("done") ? 1 : 0)
  }

  private struct Result: Encodable {
    let confinement: ConfinementReport
    let attempts: [String: String]
  }

  private static func connecting() -> String? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return String(cString: strerror(errno)) }
    defer { close(descriptor) }
    return nil
  }

  private static func opening(_ path: String, _ flags: Int32) -> String? {
    let descriptor = open(path, flags, 0o600)
    guard descriptor >= 0 else { return String(cString: strerror(errno)) }
    close(descriptor)
    return nil
  }

  private static func executing() -> String? {
    var arguments: [UnsafeMutablePointer<CChar>?] = [nil]
    return Confinement.failure(execv("/bin/true", &arguments))
  }

  private static func forking() -> String? {
    var child: pid_t = 0
    var arguments: [UnsafeMutablePointer<CChar>?] = [nil]
    let code = posix_spawn(&child, "/bin/true", nil, nil, &arguments, nil)
    guard code == 0 else { return String(cString: strerror(code)) }
    waitpid(child, nil, 0)
    return nil
  }
}
