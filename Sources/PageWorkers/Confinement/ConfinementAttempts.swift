import CLinux
import Foundation

/// The arguments are harmless if a call is allowed: ignored signals, present limits, and invalid pointers in calls
/// whose permission is checked first.
extension ConfinementAttempt {
  /// - Parameter draws: `true` for a worker that draws pages, which needs fonts and files in memory.
  static func all(draws: Bool = false) -> [ConfinementAttempt] {
    let common = processes + processFiles + files + network + programs + privileges + kernel + needs
    return common + [makeMemoryFile(isNeeded: draws)] + (draws ? fonts : [])
  }

  private static func call(_ number: Int32, _ arguments: Int...) -> Int {
    let all = arguments + Array(repeating: 0, count: 6 - arguments.count)
    return pk_syscall6(Int(number), all[0], all[1], all[2], all[3], all[4], all[5])
  }

  /// A path as an argument.
  private static func call(_ number: Int32, _ path: String, _ arguments: (Int) -> [Int]) -> Int {
    path.withCString { path in
      let all = arguments(Int(bitPattern: path))
      let padded = all + Array(repeating: 0, count: 6 - all.count)
      return pk_syscall6(Int(number), padded[0], padded[1], padded[2], padded[3], padded[4], padded[5])
    }
  }

  private static func opening(_ path: String, _ flags: Int32 = O_RDONLY) -> Int {
    let descriptor = open(path, flags, 0o600)
    if descriptor >= 0 { close(descriptor) }
    return Int(descriptor)
  }

  private static func making(_ descriptor: Int) -> Int {
    if descriptor >= 0 { close(Int32(descriptor)) }
    return descriptor
  }

  private static let here = Int(AT_FDCWD)
  private static let nowhere = 1

  // MARK: Other processes

  private static let processes: [ConfinementAttempt] = [
    .init("signal another process (kill)") { Int(kill($0.process, SIGWINCH)) },
    .init("signal another process (tkill)") { call(SYS_tkill, Int($0.process), Int(SIGWINCH)) },
    .init("signal another process (tgkill)") {
      call(SYS_tgkill, Int($0.process), Int($0.process), Int(SIGWINCH))
    },
    .init("signal another process (rt_sigqueueinfo)") { queueSignal(SYS_rt_sigqueueinfo, [Int($0.process)]) },
    .init("signal another process (rt_tgsigqueueinfo)") {
      queueSignal(SYS_rt_tgsigqueueinfo, [Int($0.process), Int($0.process)])
    },
    .init("signal all processes") { _ in Int(kill(-1, 0)) },
    .init("hold another process (pidfd_open)") { making(call(SYS_pidfd_open, Int($0.process), 0)) },
    .init("have signals sent to another process (F_SETOWN)") {
      call(SYS_fcntl, -1, Int(F_SETOWN), Int($0.process))
    },
    .init("have signals sent to another process (FIOSETOWN)") { target in
      var process = target.process
      return withUnsafeMutablePointer(to: &process) { call(SYS_ioctl, -1, 0x8901, Int(bitPattern: $0)) }
    },
    .init("read another process's limits") { limits(of: $0.process, isSet: false) },
    .init("set another process's limits") { limits(of: $0.process, isSet: true) },
    .init("set another process's priority") { call(SYS_setpriority, 0, Int($0.process), 19) },
    .init("set another process's scheduling") { target in
      var priority: Int32 = 0
      return withUnsafeMutablePointer(to: &priority) {
        call(SYS_sched_setscheduler, Int(target.process), 0, Int(bitPattern: $0))
      }
    },
    .init("choose another process's processors") { target in
      var processors: UInt64 = .max
      return withUnsafeMutablePointer(to: &processors) {
        call(SYS_sched_setaffinity, Int(target.process), 8, Int(bitPattern: $0))
      }
    },
    .init("set another process's priority of reads and writes") {
      call(SYS_ioprio_set, 1, Int($0.process), 2 << 13 | 4)
    },
    // PTRACE_SEIZE does not stop it.
    .init("trace another process") { call(SYS_ptrace, 0x4206, Int($0.process)) },
    .init("read another process's memory") { call(SYS_process_vm_readv, Int($0.process), nowhere, 1, nowhere, 1) },
    .init("write another process's memory") { call(SYS_process_vm_writev, Int($0.process), nowhere, 1, nowhere, 1) },
    .init("compare itself with another process") { call(SYS_kcmp, Int(getpid()), Int($0.process), 1) },
    .init("move another process's memory") { call(SYS_migrate_pages, Int($0.process), 8, nowhere, nowhere) },
    .init("find another process's locks") { call(SYS_get_robust_list, Int($0.process), nowhere, nowhere) },
    // CPUCLOCK_SCHED of a process: its number, inverted, above three bits.
    .init("see another process's clock") { time(of: Int(~$0.process << 3 | 2)) },
    .init("join another group of processes") { call(SYS_setpgid, 0, Int($0.process)) },
    .init("outlive the daemon") { _ in Int(pk_prctl(PR_SET_PDEATHSIG, 0, 0)) },
    .init("be traced by any process") { _ in Int(pk_prctl(0x5961_6d61, UInt.max, 0)) },  // PR_SET_PTRACER
  ]

  private static func queueSignal(_ number: Int32, _ target: [Int]) -> Int {
    var information = [Int32](repeating: 0, count: 32)
    (information[0], information[2]) = (SIGWINCH, -1)  // SI_QUEUE
    return information.withUnsafeMutableBytes {
      let all = target + [Int(SIGWINCH), Int(bitPattern: $0.baseAddress)]
      return pk_syscall6(Int(number), all[0], all[1], all[2], all.count > 3 ? all[3] : 0, 0, 0)
    }
  }

  private static func time(of clock: Int) -> Int {
    var time = [0, 0]
    return time.withUnsafeMutableBytes { call(SYS_clock_gettime, clock, Int(bitPattern: $0.baseAddress)) }
  }

  private static func limits(of process: pid_t, isSet: Bool) -> Int {
    var limit = rlimit(rlim_cur: 0, rlim_max: 0)  // no core files
    return withUnsafeMutablePointer(to: &limit) {
      let pointer = Int(bitPattern: $0)
      return call(SYS_prlimit64, Int(process), 4, isSet ? pointer : 0, isSet ? 0 : pointer)  // RLIMIT_CORE
    }
  }

  // MARK: What /proc tells of other processes

  private static let processFiles: [ConfinementAttempt] =
    ["cmdline", "status", "environ", "maps", "mem", "auxv", "fd/0", "exe", "net/tcp", "task"].map { name in
      .init("read /proc/<other>/\(name)") { opening("/proc/\($0.process)/\(name)") }
    } + [
      .init("write /proc/<other>/comm") { opening("/proc/\($0.process)/comm", O_WRONLY) },
      .init("write /proc/<other>/oom_score_adj") { opening("/proc/\($0.process)/oom_score_adj", O_WRONLY) },
      .init("list /proc") { _ in opening("/proc", O_RDONLY | O_DIRECTORY) },
      // The file of the other process, unless this process has its own network.
      .init("see the machine's connections in /proc/net") { target in
        guard let connections = try? String(contentsOfFile: "/proc/net/tcp", encoding: .utf8) else { return -1 }
        errno = EACCES
        return connections.contains(String(format: ":%04X ", target.port)) ? 0 : -1
      },
    ]
    + [
      "/proc/kallsyms", "/proc/modules", "/proc/stat", "/proc/1/cmdline", "/proc/sys/kernel/version", "/proc/keys",
      "/proc/kmsg", "/proc/kcore", "/proc/config.gz", "/etc/passwd", "/dev/kmsg", "/sys/kernel/notes",
    ].map { path in .init("read \(path)") { _ in opening(path) } }

  // MARK: Files

  private static let files: [ConfinementAttempt] = [
    .init("read a file of its user") { opening($0.file) },
    .init("read a file by way of /proc/self/root") { opening("/proc/self/root" + $0.file) },
    .init("find a file of its user (O_PATH)") { opening($0.file, 0o10000000) },
    .init("write a file of its user") { opening($0.file, O_WRONLY) },
    .init("read and write a file of its user") { opening($0.file, O_RDWR) },
    .init("empty a file of its user (O_TRUNC)") { opening($0.file, O_RDONLY | O_TRUNC) },
    .init("empty a file of its user (truncate)") { call(SYS_truncate, $0.file) { [$0, 0] } },
    .init("make a file") { opening($0.file + ".new", O_WRONLY | O_CREAT | O_EXCL) },
    .init("make a file without a name") { target in
      opening((target.file as NSString).deletingLastPathComponent, O_RDWR | 0o20000000 | O_DIRECTORY)  // O_TMPFILE
    },
    .init("open a file by openat2") { target in
      var how: [UInt64] = [0, 0, 0]
      return how.withUnsafeMutableBytes { how in
        making(call(SYS_openat2, target.file) { [here, $0, Int(bitPattern: how.baseAddress), 24] })
      }
    },
    .init("list a folder") { opening(($0.file as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY) },
    .init("look at a file (stat)") { target in
      var buffer = [UInt8](repeating: 0, count: 512)
      return buffer.withUnsafeMutableBytes { buffer in
        call(SYS_newfstatat, target.file) { [here, $0, Int(bitPattern: buffer.baseAddress), 0] }
      }
    },
    .init("look at a file (newfstatat with AT_EMPTY_PATH)") { target in
      var buffer = [UInt8](repeating: 0, count: 512)
      return buffer.withUnsafeMutableBytes { buffer in
        call(SYS_newfstatat, target.file) { [here, $0, Int(bitPattern: buffer.baseAddress), 0x1000] }
      }
    },
    .init("look at a file (statx)") { target in
      var buffer = [UInt8](repeating: 0, count: 512)
      return buffer.withUnsafeMutableBytes { buffer in
        call(SYS_statx, target.file) { [here, $0, 0, 0x7ff, Int(bitPattern: buffer.baseAddress)] }
      }
    },
    .init("learn whether a file is there") { call(SYS_faccessat, $0.file) { [here, $0, 0] } },
    .init("watch a file") { call(SYS_inotify_add_watch, $0.file) { [-1, $0, 1] } },
    .init("change a file's mode") { call(SYS_fchmodat, $0.file) { [here, $0, 0o644] } },
    .init("change the mode of an open file") { _ in call(SYS_fchmod, -1, 0o600) },
    .init("change a file's owner") { call(SYS_fchownat, $0.file) { [here, $0, Int(getuid()), Int(getgid()), 0] } },
    .init("change a file's times") { call(SYS_utimensat, $0.file) { [here, $0, 0, 0] } },
    .init("give a file an attribute") { target in
      "user.worker".withCString { name in
        call(SYS_setxattr, target.file) { [$0, Int(bitPattern: name), Int(bitPattern: name), 1, 0] }
      }
    },
    .init("take an attribute from a file") { target in
      "user.worker".withCString { name in call(SYS_removexattr, target.file) { [$0, Int(bitPattern: name)] } }
    },
    .init("read a file's attributes") { call(SYS_listxattr, $0.file) { [$0, 0, 0] } },
    .init("remove a file") { call(SYS_unlinkat, $0.file) { [here, $0, 0] } },
    .init("remove a folder") { call(SYS_unlinkat, $0.file) { [here, $0, 0x200] } },
    .init("make a folder") { call(SYS_mkdirat, $0.file + ".folder") { [here, $0, 0o700] } },
    .init("make a pipe with a name") { call(SYS_mknodat, $0.file + ".pipe") { [here, $0, 0o010600, 0] } },
    .init("rename a file") { target in
      target.file.withCString { old in
        call(SYS_renameat2, target.file + ".renamed") { [here, Int(bitPattern: old), here, $0, 0] }
      }
    },
    .init("link a file") { target in
      target.file.withCString { old in
        call(SYS_linkat, target.file + ".linked") { [here, Int(bitPattern: old), here, $0, 0] }
      }
    },
    .init("make a symbolic link") { target in
      target.file.withCString { old in
        call(SYS_symlinkat, target.file + ".symbolic") { [Int(bitPattern: old), here, $0] }
      }
    },
    .init("read a symbolic link") { _ in
      var buffer = [UInt8](repeating: 0, count: 512)
      return buffer.withUnsafeMutableBytes { buffer in
        call(SYS_readlinkat, "/proc/self/exe") { [here, $0, Int(bitPattern: buffer.baseAddress), 512] }
      }
    },
    .init("change its folder") { _ in call(SYS_chdir, "/") { [$0] } },
    .init("change its root") { _ in call(SYS_chroot, "/") { [$0] } },
    .init("change the root of mounts") { _ in call(SYS_pivot_root, nowhere, nowhere) },
    .init("mount") { _ in call(SYS_mount, nowhere, nowhere, nowhere, 0, 0) },
    .init("unmount") { _ in call(SYS_umount2, nowhere, 0) },
    .init("mount by the newer calls") { _ in call(SYS_fsopen, nowhere, 0) },
    .init("copy a tree of mounts") { _ in making(call(SYS_open_tree, "/") { [here, $0, 1] }) },
    .init("move a mount") { _ in call(SYS_move_mount, -1, nowhere, -1, nowhere, 0) },
    .init("name a file by its handle") { call(SYS_name_to_handle_at, $0.file) { [here, $0, nowhere, nowhere, 0] } },
    .init("open a file by its handle") { _ in call(SYS_open_by_handle_at, 2, nowhere, 0) },
    .init("set quotas") { _ in call(SYS_quotactl, 0x80_0007 << 8, nowhere, 0, nowhere) },
    .init("write all files out") { _ in call(SYS_sync) },
    .init("copy a descriptor") { _ in making(call(SYS_dup, 2)) },
    .init("type into the terminal (TIOCSTI)") { _ in call(SYS_ioctl, 0, 0x5412, nowhere) },
  ]

  // MARK: The network

  private static let network: [ConfinementAttempt] =
    [
      .init("connect by TCP") { target in
        connecting(AF_INET, SOCK_STREAM) { descriptor in
          var address = sockaddr_in()
          address.sin_family = sa_family_t(AF_INET)
          address.sin_port = target.port.bigEndian
          address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
          return withUnsafeBytes(of: &address) { raw in
            call(SYS_connect, Int(descriptor), Int(bitPattern: raw.baseAddress), raw.count)
          }
        }
      },
      .init("connect to an abstract socket") { target in
        connecting(AF_UNIX, SOCK_STREAM) { descriptor in
          let bytes = ConfinementCheck.abstractAddress(target.abstractSocket)
          return bytes.withUnsafeBytes { raw in
            call(SYS_connect, Int(descriptor), Int(bitPattern: raw.baseAddress), raw.count)
          }
        }
      },
      .init("listen") { _ in
        connecting(AF_INET, SOCK_STREAM) { descriptor in
          var address = sockaddr_in()
          address.sin_family = sa_family_t(AF_INET)
          address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
          return withUnsafeBytes(of: &address) { raw in
            call(SYS_bind, Int(descriptor), Int(bitPattern: raw.baseAddress), raw.count)
          }
        }
      },
      .init("make a socket pair") { _ in
        var pair: [Int32] = [-1, -1]
        let result = pair.withUnsafeMutableBytes {
          call(SYS_socketpair, Int(AF_UNIX), Int(SOCK_STREAM.rawValue), 0, Int(bitPattern: $0.baseAddress))
        }
        for descriptor in pair where descriptor >= 0 { close(descriptor) }
        return result
      },
      .init("send to an address") { _ in
        var address = sockaddr_in()
        return withUnsafeBytes(of: &address) { raw in
          call(SYS_sendto, 2, nowhere, 0, 0, Int(bitPattern: raw.baseAddress), raw.count)
        }
      },
      .init("hand over a descriptor") { _ in call(SYS_sendmsg, 2, nowhere, 0) },
      .init("take over a descriptor") { _ in call(SYS_recvmsg, 2, nowhere, 0) },
    ]
    + [
      ("UDP", AF_INET, SOCK_DGRAM), ("raw packets", AF_INET, SOCK_RAW), ("IPv6", AF_INET6, SOCK_STREAM),
      ("a socket with a path", AF_UNIX, SOCK_STREAM), ("netlink", AF_NETLINK, SOCK_RAW), ("vsock", 40, SOCK_STREAM),
      ("frames", AF_PACKET, SOCK_RAW), ("the kernel's ciphers", 38, SOCK_SEQPACKET),
    ].map { (name, family, type) in
      .init("make a socket for \(name)") { _ in making(Int(socket(Int32(family), Int32(type.rawValue), 0))) }
    }

  private static func connecting(
    _ family: Int32, _ type: __socket_type, _ body: (Int32) -> Int
  ) -> Int {
    let descriptor = socket(family, Int32(type.rawValue), 0)
    guard descriptor >= 0 else { return -1 }
    let result = body(descriptor)
    let error = errno
    close(descriptor)
    errno = error
    return result
  }

  // MARK: Programs

  private static let programs: [ConfinementAttempt] = [
    .init("run a program (execve)") { call(SYS_execve, $0.file) { [$0, 0, 0] } },
    .init("run a program (execveat)") { call(SYS_execveat, $0.file) { [here, $0, 0, 0, 0] } },
    .init("run a program (posix_spawn)") { target in
      var child: pid_t = 0
      var arguments: [UnsafeMutablePointer<CChar>?] = [nil]
      errno = posix_spawn(&child, target.file, nil, nil, &arguments, nil)
      if errno == 0 { waitpid(child, nil, 0) }
      return errno == 0 ? 0 : -1
    },
    .init("make a process (clone)") { _ in Int(pk_fork_and_end()) },
    .init("make a process (clone3)") { _ in call(SYS_clone3, nowhere, 64) },
    .init("make a thread in another namespace") { _ in call(SYS_clone, 0x0001_0000 | 0x1000_0000) },
    .init("make memory that the kernel cannot see") { _ in making(call(SYS_memfd_secret)) },
    .init("wait for processes") { _ in call(SYS_wait4, -1, 0, 1, 0) },
  ]

  private static func makeMemoryFile(isNeeded: Bool) -> ConfinementAttempt {
    .init("make a file in memory", isNeeded: isNeeded) { _ in making(memoryFile()) }
  }

  private static func memoryFile() -> Int { "worker".withCString { call(SYS_memfd_create, Int(bitPattern: $0)) } }

  // MARK: Fonts

  /// The further needs of a worker that draws pages, and attempts close to them.
  private static let fonts: [ConfinementAttempt] = [
    .init("read a font", isNeeded: true) { font($0) { opening($0) } },
    .init("ask whether it can read a font", isNeeded: true) {
      font($0) { call(SYS_faccessat, $0) { [here, $0, Int(R_OK)] } }
    },
    .init("read a file in memory by its path", isNeeded: true) { _ in
      let file = memoryFile()
      defer { close(Int32(file)) }
      return file < 0 ? file : opening("/proc/self/fd/\(file)")
    },
    .init("run a file in memory") { _ in
      let file = memoryFile()
      defer { close(Int32(file)) }
      return file < 0 ? file : call(SYS_execveat, "") { [file, $0, 0, 0, 0x1000] }  // AT_EMPTY_PATH
    },
    .init("write a font") { font($0) { opening($0, O_WRONLY) } },
    .init("list a folder of fonts") { font($0) { opening(folder(of: $0), O_RDONLY | O_DIRECTORY) } },
    .init("make a file without a name among the fonts") {
      font($0) { opening(folder(of: $0), O_RDWR | 0o20000000 | O_DIRECTORY) }  // O_TMPFILE
    },
    .init("leave the folder of fonts (..)") { target in
      font(target) { font in
        let up = String(repeating: "/..", count: font.split(separator: "/").count)
        return opening(folder(of: font) + up + target.file)
      }
    },
    .init("ask whether it can read a file of its user (faccessat)") {
      call(SYS_faccessat, $0.file) { [here, $0, Int(R_OK)] }
    },
    .init("ask whether it can read a file of its user (access)") { Int(access($0.file, R_OK)) },
    .init("ask whether it can write a font") { font($0) { call(SYS_faccessat, $0) { [here, $0, Int(W_OK)] } } },
  ]

  /// Tries something on a font. A machine that has none refuses nothing and offers nothing.
  private static func font(_ target: ConfinementTarget, _ body: (String) -> Int) -> Int {
    if let font = target.font { return body(font) }
    errno = ENOENT
    return -1
  }

  private static func folder(of file: String) -> String { (file as NSString).deletingLastPathComponent }

  // MARK: Privileges

  private static let privileges: [ConfinementAttempt] = [
    .init("make a user namespace") { _ in call(SYS_unshare, 0x1000_0000) },
    .init("make a mount namespace") { _ in call(SYS_unshare, 0x0002_0000) },
    .init("join a namespace") { _ in call(SYS_setns, 2, 0) },
    .init("set its user") { _ in call(SYS_setuid, 0) },
    .init("set its users") { _ in call(SYS_setresuid, 0, 0, 0) },
    .init("set its group") { _ in call(SYS_setgid, 0) },
    .init("set its groups") { _ in call(SYS_setgroups, 0, 0) },
    .init("set its capabilities") { _ in call(SYS_capset, nowhere, nowhere) },
    .init("change its user's files' owner (setfsuid)") { _ in call(SYS_setfsuid, -1) },
    .init("change its personality") { _ in call(SYS_personality, 0xffff_ffff) },
    .init("add a filter of system calls") { _ in call(SYS_seccomp, 1, 0, nowhere) },
    .init("add Landlock's rules") { _ in making(call(SYS_landlock_create_ruleset, 0, 0, 1)) },
    .init("lock memory") { _ in call(SYS_mlockall, 0) },
    .init("take up a descriptor of another process") { call(SYS_pidfd_getfd, Int($0.process), 0, 0) },
  ]

  // MARK: The kernel

  private static var kernel: [ConfinementAttempt] {
    var calls: [(String, Int32, [Int])] = [
      ("load a program into the kernel (bpf)", SYS_bpf, [-1, nowhere, 0]),
      ("measure performance", SYS_perf_event_open, [nowhere, 0, -1, -1, 0]),
      ("make a ring of calls (io_uring)", SYS_io_uring_setup, [1, nowhere]),
      ("handle page faults", SYS_userfaultfd, [1]), ("use keys", SYS_keyctl, [0, -3, 0]),
      ("add a key", SYS_add_key, [nowhere, nowhere, 0, 0, -2]),
      ("ask for a key", SYS_request_key, [nowhere, nowhere, 0, 0]),
      ("load a module", SYS_init_module, [nowhere, 0, nowhere]),
      ("load a module from a file", SYS_finit_module, [-1, nowhere, 0]),
      ("unload a module", SYS_delete_module, [nowhere, 0]), ("load a kernel", SYS_kexec_load, [0, 17, nowhere, 0]),
      ("restart the machine", SYS_reboot, [0, 0, 0, 0]), ("swap", SYS_swapon, [nowhere, 0]),
      ("read the kernel's log", SYS_syslog, [3, nowhere, 1]), ("account for processes", SYS_acct, [nowhere]),
      ("set the clock", SYS_clock_settime, [0, nowhere]), ("adjust the clock", SYS_clock_adjtime, [0, nowhere]),
      ("name the machine", SYS_sethostname, [nowhere, -1]), ("make shared memory", SYS_shmget, [0, 4096, 0o1600]),
      ("make a queue", SYS_msgget, [0, 0o1600]), ("make semaphores", SYS_semget, [0, 1, 0o1600]),
      ("open a queue with a name", SYS_mq_open, [nowhere, 0o100, 0o600, 0]),
      ("watch files of the system", SYS_fanotify_init, [0, 0]), ("make an inotify", SYS_inotify_init1, [0]),
      ("read asynchronously", SYS_io_setup, [1, nowhere]),
    ]
    #if arch(x86_64)
      calls += [
        ("use ports", SYS_iopl, [0]), ("change segments", SYS_modify_ldt, [0, nowhere, 0]),
        ("open a file by the old call", SYS_open, [nowhere, 0]),
        // The same process with another table of calls.
        ("call as x32", 0x4000_0000 + SYS_getpid, []),
      ]
    #endif
    return calls.map { name, number, arguments in
      .init(name) { _ in
        let all = arguments + Array(repeating: 0, count: 6 - arguments.count)
        return pk_syscall6(Int(number), all[0], all[1], all[2], all[3], all[4], all[5])
      }
    }
  }

  // MARK: Necessary calls

  private static let needs: [ConfinementAttempt] = [
    .init("read random bytes", isNeeded: true) { _ in opening("/dev/urandom") },
    .init("read its own state", isNeeded: true) { _ in
      (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) == nil ? -1 : 0
    },
    .init("read its threads' states", isNeeded: true) { _ in
      opening("/proc/\(call(SYS_gettid))/stat", O_RDONLY | O_NONBLOCK)
    },
    .init("start a thread", isNeeded: true) { _ in
      var thread = pthread_t()
      errno = pthread_create(&thread, nil, { _ in nil }, nil)
      if errno == 0 { pthread_join(thread, nil) }
      return errno == 0 ? 0 : -1
    },
    .init("stop its own threads with signals", isNeeded: true) { _ in
      call(SYS_tgkill, Int(getpid()), call(SYS_gettid), 0)
    },
    .init("make machine code", isNeeded: true) { _ in
      let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
      guard memory != MAP_FAILED else { return -1 }
      defer { munmap(memory, 4096) }
      return Int(mprotect(memory, 4096, PROT_READ | PROT_EXEC))
    },
    .init("wait for events", isNeeded: true) { _ in making(call(SYS_epoll_create1, 0)) },
    .init("set timers", isNeeded: true) { _ in making(call(SYS_timerfd_create, 1, 0)) },
    .init("know its own limits", isNeeded: true) { _ in limits(of: 0, isSet: false) },
    .init("measure its threads' time", isNeeded: true) { _ in time(of: 3) },  // CLOCK_THREAD_CPUTIME_ID
  ]
}
