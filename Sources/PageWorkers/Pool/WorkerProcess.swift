import CLinux
import Foundation
import HTTPTransport
import NIOCore
import NIOPosix
import PageKit
import Synchronization

/// The process of a worker, with its socket and its shared memory.
struct WorkerProcess: Sendable {
  let id: pid_t
  /// The daemon's end of the socket; the owner of the process closes it.
  let socket: Int32
  let board: SharedHeartbeats
  /// Has what the process writes to its standard error; reaping the process closes it.
  fileprivate let errors: Int32

  /// Resident bytes; `nil` after its end.
  var residentBytes: Int64? {
    guard let text = try? String(contentsOfFile: "/proc/\(id)/statm", encoding: .utf8),
      let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int64($0) }), pages > 0
    else { return nil }
    return pages * Int64(sysconf(Int32(_SC_PAGESIZE)))
  }
}

extension WorkerProcess {
  /// The processor time of all its threads; `nil` after its end.
  var processorTime: Duration? {
    var (clock, time) = (clockid_t(), timespec())
    guard clock_getcpuclockid(id, &clock) == 0, clock_gettime(clock, &time) == 0 else { return nil }
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}

extension WorkerProcess {
  /// The end of what an ended process has written to its standard error: the C library and Swift's runtime say there why they end
  /// a process. Of what it has written in its life the first 64 KiB count.
  fileprivate func readErrors() -> String {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = read(errors, &bytes, bytes.count)
    return Self.lastWords(of: bytes.prefix(max(0, count)))
  }

  /// The last lines of a text, as one line of at most 1,200 characters without control characters.
  static func lastWords(of bytes: some Sequence<UInt8>) -> String {
    let lines = String(decoding: Array(bytes), as: UTF8.self).split(whereSeparator: \.isNewline).map { line in
      line.unicodeScalars.text(replacingControls: { _ in nil }).trimmingCharacters(in: .whitespaces)
    }
    return String(lines.filter { !$0.isEmpty }.joined(separator: "; ").suffix(1_200))
  }
}

/// The end of a process.
enum ProcessEnd: Hashable, Sendable, CustomStringConvertible {
  case exited(Int32)
  case signalled(Int32)

  init(status: Int32) {
    // wait(2): the low seven bits are the signal, the byte above them the status.
    self = status & 0x7f == 0 ? .exited((status >> 8) & 0xff) : .signalled(status & 0x7f)
  }

  var description: String {
    switch self {
    case .exited(let status): "it ended with status \(status)"
    case .signalled(let signal): "it ended by signal \(signal) (\(String(cString: strsignal(signal))))"
    }
  }
}

/// Starts and reaps all workers on one thread that outlives them, since a child is killed when the thread that started
/// it ends (`PR_SET_PDEATHSIG`).
final class ProcessSpawner: Sendable {
  private let thread = NIOThreadPool(numberOfThreads: 1)
  private let executable: String
  private let program: String
  private let draws: Bool

  /// - Parameters:
  ///   - executable: the program with the command `worker`; by default this one.
  ///   - program: the name of the process.
  ///   - draws: `true` for processes that draw pages.
  init(executable: String = "/proc/self/exe", program: String = "renderhost", draws: Bool = false) {
    self.executable = executable
    self.program = program
    self.draws = draws
    thread.start()
  }

  /// Ends the thread. All workers have been reaped.
  func stop() { thread.shutdownGracefully { _ in } }

  /// - Throws: ``WorkerError/cannotStart(_:)``.
  func start() async throws -> WorkerProcess {
    try await withCheckedThrowingContinuation { continuation in
      thread.submit { [executable, program, draws] _ in
        continuation.resume(with: Result { try Self.spawn(executable, as: program, draws: draws) })
      }
    }
  }

  /// Kills the process if it still runs, and reaps it.
  ///
  /// - Returns: its end, and its last words on its standard error.
  func end(_ process: WorkerProcess) async -> (ProcessEnd, lastWords: String) {
    await withCheckedContinuation { continuation in
      thread.submit { _ in
        kill(process.id, SIGKILL)
        var status: Int32 = 0
        while waitpid(process.id, &status, 0) < 0, errno == EINTR {}
        let lastWords = process.readErrors()
        close(process.errors)
        continuation.resume(returning: (ProcessEnd(status: status), lastWords))
      }
    }
  }

  /// The environment of a worker: only the time zone, since the engine cannot read /etc/localtime.
  ///
  /// - Parameters:
  ///   - environment: the daemon's environment.
  ///   - timeZone: the time zone if the environment has none.
  static func environment(of environment: [String: String], timeZone: String) -> [String] {
    var variables = environment.filter { ["TZ", "LANG", "LD_LIBRARY_PATH"].contains($0.key) }
    variables["TZ"] = variables["TZ"] ?? timeZone
    return variables.map { "\($0.key)=\($0.value)" }.sorted()
  }

  private static func spawn(_ executable: String, as program: String, draws: Bool) throws -> WorkerProcess {
    func failure(_ what: String, _ code: Int32 = errno) -> WorkerError {
      .cannotStart("\(what): \(String(cString: strerror(code)))")
    }
    let descriptor = SharedHeartbeats.makeDescriptor()
    guard descriptor >= 0, let board = SharedHeartbeats(descriptor: descriptor, isWritable: false) else {
      throw failure("memory")
    }
    defer { close(descriptor) }
    // Neither end waits: what the worker writes is lost once the buffer is full.
    var errors: [Int32] = [-1, -1]
    let waitless = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    guard socketpair(AF_UNIX, waitless, 0, &errors) == 0 else { throw failure("socket") }
    defer { close(errors[1]) }
    var isStarted = false
    defer { if !isStarted { close(errors[0]) } }
    // SOCK_CLOEXEC: the child inherits only the descriptors below.
    var sockets: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &sockets) == 0 else {
      throw failure("socket")
    }
    defer { close(sockets[1]) }
    // The descriptors may have numbers that the child uses; copies with higher numbers avoid that.
    let copies = [sockets[1], descriptor, errors[1]].map { fcntl($0, F_DUPFD_CLOEXEC, WorkerMain.boardDescriptor + 1) }
    let copyError = errno
    defer { for copy in copies where copy >= 0 { close(copy) } }
    guard !copies.contains(-1) else {
      close(sockets[0])
      throw failure("socket", copyError)
    }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for number: Int32 in 0...1 { posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0) }
    posix_spawn_file_actions_adddup2(&actions, copies[2], STDERR_FILENO)
    posix_spawn_file_actions_adddup2(&actions, copies[0], WorkerMain.socketDescriptor)
    posix_spawn_file_actions_adddup2(&actions, copies[1], WorkerMain.boardDescriptor)
    posix_spawn_file_actions_addclosefrom_np(&actions, WorkerMain.boardDescriptor + 1)
    let words = [program, "worker", String(getpid())] + (draws ? [WorkerMain.drawing] : [])
    let variables = environment(of: ProcessInfo.processInfo.environment, timeZone: TimeZone.current.identifier)
    do {
      let child = try ChildProcess.start(executable, words, environment: variables, &actions)
      isStarted = true
      return WorkerProcess(id: child, socket: sockets[0], board: board, errors: errors[0])
    } catch {
      close(sockets[0])
      throw WorkerError.cannotStart("\(executable): \(error.message)")
    }
  }
}

/// Processes with a group of their own, which signals of a terminal do not reach, and with no signal blocked or ignored.
package enum ChildProcess {
  /// Starts a process.
  ///
  /// - Parameters:
  ///   - words: its name, and its arguments.
  ///   - environment: its variables, each as `NAME=VALUE`.
  ///   - actions: what becomes of its descriptors.
  /// - Returns: its id, which is that of its group too.
  /// - Throws: ``DescribedError`` with the system's reason.
  package static func start(
    _ executable: String, _ words: [String], environment: [String], _ actions: inout posix_spawn_file_actions_t
  ) throws(DescribedError) -> pid_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setpgroup(&attributes, 0)
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETPGROUP) | Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))
    let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    let variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var child: pid_t = 0
    let code = posix_spawn(&child, executable, &actions, &attributes, arguments, variables)
    guard code == 0 else { throw DescribedError(String(cString: strerror(code))) }
    return child
  }
}

/// The daemon's side of a worker's socket.
package final class WorkerLink: Sendable {
  typealias Channel = NIOAsyncChannel<ByteBuffer, ByteBuffer>
  package typealias Reply = (PageReply, [UInt8])

  private struct State {
    /// The calls that wait for their replies.
    var calls:
      [UInt64: (page: UInt64, due: ContinuousClock.Instant, continuation: CheckedContinuation<Reply, any Error>)] = [:]
    var lastCall: UInt64 = 0
    var writer: NIOAsyncChannelOutboundWriter<ByteBuffer>?
    /// The reason why it ended or is ending, and the pages to blame.
    var end: (reason: KillReason, culprits: Set<UInt64>)?
  }

  private let channel: Channel
  private let state = Mutex(State())

  /// Takes ownership of the socket.
  init(socket: Int32) async throws {
    channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .withConnectedSocket(socket) { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(FrameDecoder()))
          // A frame may have 64 MiB.
          return try Channel(
            wrappingChannelSynchronously: channel,
            configuration: .init(backPressureStrategy: .init(lowWatermark: 1, highWatermark: 2)))
        }
      }
  }

  /// Reads until the worker has ended; an invalid message ends it.
  ///
  /// - Returns: the reason of its end, if its messages contain it.
  func run(
    ready: @escaping @Sendable () async throws -> Void,
    receive: @escaping @Sendable (WorkerMessage, [UInt8]) async -> Void
  ) async -> KillReason? {
    do {
      try await channel.executeThenClose { inbound, outbound in
        state.withLock { $0.writer = outbound }
        try await ready()
        // The events of a page begin alike.
        var event: (head: [UInt8], message: WorkerMessage)?
        for try await frame in inbound {
          let (head, payload) = try Frame.split(frame)
          let message: WorkerMessage
          if let event, event.head == head {
            message = event.message
          } else {
            message = try await Frame.decodeInBackground(WorkerMessage.self, from: head)
            if case .event = message { event = (head, message) }
          }
          switch message {
          case .done(let call, let reply): finish(call, .success((reply, payload)))
          case .failed(let call, let fault): finish(call, .failure(fault))
          default: await receive(message, payload)
          }
        }
      }
      return nil
    } catch let error as FrameError {
      return .malformed("\(error)")
    } catch let error where error is JSONError || error is DecodingError {
      return .malformed(error.jsonReason)
    } catch {
      return nil
    }
  }

  func close() { channel.channel.close(promise: nil) }

  func send(_ message: HostMessage, _ payload: [UInt8] = []) async throws {
    guard let writer = state.withLock(\.writer) else { throw WorkerError.noWorker }
    let encoded: @Sendable () throws -> ByteBuffer = { try Frame.encode(message, payload) }
    try await writer.write(try await message.data?.encoding(encoded) ?? encoded())
  }

  /// Sends a message without waiting, unless the worker does not read.
  func post(_ message: HostMessage, _ payload: [UInt8] = []) {
    guard channel.channel.isWritable, let frame = try? Frame.encode(message, payload) else { return }
    channel.channel.writeAndFlush(frame, promise: nil)
  }

  /// Sends a call for a page, and waits for the answer.
  ///
  /// - Parameter limit: the time after which a worker without an answer counts as lost.
  /// - Throws: ``PageFault``, ``WorkerError``.
  func call(
    _ page: UInt64, within limit: Duration, _ payload: [UInt8] = [],
    _ message: @escaping @Sendable (UInt64) -> HostMessage
  ) async throws -> Reply {
    let id = state.withLock { state in
      state.lastCall += 1
      return state.lastCall
    }
    return try await withCheckedThrowingContinuation { continuation in
      let failure: WorkerError? = state.withLock { state in
        if let end = state.end { return .ended(end.reason, Blame(page, among: end.culprits)) }
        state.calls[id] = (page, .now + limit, continuation)
        return nil
      }
      if let failure { return continuation.resume(throwing: failure) }
      // Unstructured, since the cancellation of a caller does not cancel the worker's call.
      Task {
        do { try await send(message(id), payload) } catch let error as FrameError {
          finish(id, .failure(PageFault.refused("the call of the page cannot be sent: \(error)")))
        } catch {
          finish(id, .failure(WorkerError.noWorker))
        }
      }
    }
  }

  /// The seconds since the first overdue call was due; negative if none is.
  func overdue(at now: ContinuousClock.Instant) -> Double? {
    state.withLock { $0.calls.values.map(\.due).min() }.map { (now - $0).seconds }
  }

  /// The first reason applies.
  ///
  /// - Returns: `true` if this is the first reason.
  func recordEnd(_ reason: KillReason, culprits: Set<UInt64>) -> Bool {
    state.withLock { state in
      guard state.end == nil else { return false }
      state.end = (reason, culprits)
      return true
    }
  }

  var end: (reason: KillReason, culprits: Set<UInt64>)? { state.withLock(\.end) }

  /// Resumes all waiting callers.
  func failCalls() {
    let (calls, end) = state.withLock { state in
      defer { (state.calls, state.writer) = ([:], nil) }
      return (state.calls, state.end)
    }
    for call in calls.values {
      let blame = Blame(call.page, among: end?.culprits ?? [])
      call.continuation.resume(throwing: WorkerError.ended(end?.reason ?? .ended(""), blame))
    }
  }

  private func finish(_ call: UInt64, _ result: Result<Reply, any Error>) {
    state.withLock { $0.calls.removeValue(forKey: call) }?.continuation.resume(with: result)
  }
}
