import CLinux
import Foundation

/// System calls that are refused: a program for seccomp's filter, which every thread that is made later has too.
struct SystemCallFilter {
  private var program: [sock_filter] = []

  /// A filter that lets through what no rule names.
  init() {
    // struct seccomp_data: the call's number, the architecture, the instruction's address, the arguments.
    load(4)
    jump(BPF_JEQ, pk_audit_arch, 1, 0)
    end(pk_seccomp_kill)
    load(0)
    #if arch(x86_64)
      // Calls of the x32 architecture have the same numbers with a bit more.
      jump(BPF_JGE, 0x4000_0000, 0, 1)
      end(pk_seccomp_kill)
    #endif
  }

  mutating func refuse(_ calls: [Int32], with code: Int32 = EPERM) {
    for call in calls {
      jump(BPF_JEQ, UInt32(call), 0, 1)
      end(pk_seccomp_errno | UInt32(code))
    }
  }

  /// Refuses a call where an argument has one of these bits, or, with `wanted`, where it has none of them.
  mutating func refuse(_ call: Int32, argument: Int, bits: UInt32, wanted: Bool = false, with code: Int32 = EPERM) {
    jump(BPF_JEQ, UInt32(call), 0, 4)
    load(16 + 8 * UInt32(argument))
    jump(BPF_JSET, bits, wanted ? 1 : 0, wanted ? 0 : 1)
    end(pk_seccomp_errno | UInt32(code))
    end(pk_seccomp_allow)
  }

  /// Holds for this thread and those it starts.
  ///
  /// - Returns: why it could not be had; nil where it holds.
  func install() -> String? {
    #if !arch(x86_64) && !arch(arm64)
      return "seccomp: this processor's calls are not known"
    #endif
    var program = program
    program.append(sock_filter(code: UInt16(BPF_RET | BPF_K), jt: 0, jf: 0, k: pk_seccomp_allow))
    let result = program.withUnsafeMutableBufferPointer { instructions in
      var whole = sock_fprog(len: UInt16(instructions.count), filter: instructions.baseAddress)
      return withUnsafeMutablePointer(to: &whole) {
        pk_syscall3(
          Int(SYS_seccomp), Int(SECCOMP_SET_MODE_FILTER), 0, Int(bitPattern: $0))
      }
    }
    return Confinement.failure(Int32(result)).map { "seccomp: \($0)" }
  }

  private mutating func load(_ offset: UInt32) { add(BPF_LD | BPF_W | BPF_ABS, offset) }
  private mutating func end(_ action: UInt32) { add(BPF_RET | BPF_K, action) }

  private mutating func jump(_ test: Int32, _ value: UInt32, _ isTrue: UInt8, _ isFalse: UInt8) {
    program.append(sock_filter(code: UInt16(BPF_JMP | test | BPF_K), jt: isTrue, jf: isFalse, k: value))
  }

  private mutating func add(_ code: Int32, _ value: UInt32) {
    program.append(sock_filter(code: UInt16(code), jt: 0, jf: 0, k: value))
  }
}

extension SystemCallFilter {
  /// What a worker never has to do.
  static var worker: SystemCallFilter {
    var filter = SystemCallFilter()
    filter.refuse([
      SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_execve, SYS_execveat,
      SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kill, SYS_tkill, SYS_unshare, SYS_setns, SYS_mount,
      SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_bpf, SYS_perf_event_open, SYS_keyctl, SYS_add_key, SYS_request_key,
      SYS_userfaultfd, SYS_io_uring_setup, SYS_init_module, SYS_finit_module, SYS_kexec_load, SYS_reboot, SYS_swapon,
      SYS_setuid, SYS_setgid, SYS_setresuid, SYS_setresgid, SYS_capset, SYS_pidfd_open, SYS_pidfd_getfd,
      SYS_pidfd_send_signal, SYS_memfd_create, SYS_renameat2, SYS_unlinkat, SYS_mkdirat, SYS_linkat, SYS_symlinkat,
      SYS_fchmodat, SYS_fchownat, SYS_truncate, SYS_shmget, SYS_msgget, SYS_semget, SYS_open_by_handle_at,
      SYS_name_to_handle_at, SYS_move_mount, SYS_open_tree, SYS_fsopen,
    ])
    #if arch(x86_64)
      filter.refuse([
        SYS_fork, SYS_vfork, SYS_creat, SYS_unlink, SYS_mkdir, SYS_rmdir, SYS_rename, SYS_link, SYS_symlink,
      ])
      filter.refuse(SYS_open, argument: 1, bits: Self.writing)
    #endif
    filter.refuse(SYS_openat, argument: 2, bits: Self.writing)
    // Threads are made; processes are not. What takes its flags in memory cannot be looked at: the C library falls back.
    filter.refuse(SYS_clone, argument: 0, bits: 0x0001_0000, wanted: true)
    filter.refuse([SYS_clone3, SYS_openat2], with: ENOSYS)
    return filter
  }

  private static let writing = UInt32(O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)
}
