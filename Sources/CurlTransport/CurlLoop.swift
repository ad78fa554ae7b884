import CCurl
import CLinux
import Foundation
import HTTPTransport
import Synchronization

/// The loop of the curl thread, which owns all handles of transfers and is the only one that calls libcurl for them.
final class CurlLoop {
  private let multi: UnsafeMutableRawPointer
  private let mailbox: CurlMailbox
  private let configuration: CurlTransport.Configuration
  private var active: [ObjectIdentifier: ActiveTransfer] = [:]
  private var byHandle: [UnsafeMutableRawPointer: ActiveTransfer] = [:]
  private var idleHandles: [UnsafeMutableRawPointer] = []
  private let sockets: ConnectionSockets
  private let readers = PendingReaders()
  /// When libcurl wants to be called next.
  private var timer: ContinuousClock.Instant?
  /// Not later than the first end of a total time limit.
  private var firstDeadline: ContinuousClock.Instant?
  private var isStopping = false

  /// The handles that are used again. Before 8.1.0 libcurl keeps a pointer to the last field of a handle's former
  /// transfer, which it has freed: a head that begins with a folded line would end the process.
  private static let idleHandleLimit = curl_version_info(CURLVERSION_FIRST).pointee.version_num >= 0x08_01_00 ? 32 : 0
  /// The longest wait; there are others for what has a time.
  private static let waitMilliseconds: Int32 = 60_000

  /// - Parameter multi: ends with the loop.
  /// - Throws: ``TransportError`` if the process has too many open files.
  init(
    multi: UnsafeMutableRawPointer, mailbox: CurlMailbox, configuration: CurlTransport.Configuration
  ) throws {
    sockets = try ConnectionSockets(mailbox: mailbox.descriptor)
    (self.multi, self.mailbox, self.configuration) = (multi, mailbox, configuration)
    let pipelining = configuration.sharesConnections ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING
    _ = pk_multi_setopt_long(multi, CURLMOPT_PIPELINING, Int(pipelining))
    _ = pk_multi_setopt_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.connectionsPerHost)
    _ = pk_multi_setopt_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, configuration.connections)
    _ = pk_multi_setopt_long(multi, CURLMOPT_MAXCONNECTS, configuration.connections)
    setCallbacks()
  }

  private func setCallbacks() {
    let context = Unmanaged.passUnretained(self).toOpaque()
    _ = pk_multi_setopt_timer(
      multi,
      { _, milliseconds, context in
        context.map { Unmanaged<CurlLoop>.fromOpaque($0).takeUnretainedValue().setTimer(milliseconds) }
        return 0
      }, context)
    _ = pk_multi_setopt_socket(
      multi,
      { _, socket, directions, context, _ in
        context.map {
          Unmanaged<CurlLoop>.fromOpaque($0).takeUnretainedValue().sockets.wait(for: socket, .init(ofPoll: directions))
        }
        return 0
      }, context)
  }

  func run() {
    while takeCommands() {
      let now = ContinuousClock.now
      actOnTimer(at: now)
      collectFinished()
      endOverdue(at: now)
      readers.wake()
      actOnSockets()
    }
    for command in mailbox.close() {
      if case .start(let transfer) = command { fail(transfer) }
    }
    for (_, transfer) in active {
      fail(transfer.transfer)
      // The removal does not wait for a name lookup.
      transfer.skipNameLookup()
      remove(transfer)
    }
    for handle in idleHandles { curl_easy_cleanup(handle) }
    idleHandles.removeAll()
    curl_multi_cleanup(multi)
  }

  /// Does what other threads have asked for since the last call.
  ///
  /// - Returns: `false` if the loop is to end.
  func takeCommands() -> Bool {
    // What has ended gets no more commands: libcurl would take them for wrong calls.
    collectFinished()
    for command in mailbox.removeAll() { handle(command) }
    return !isStopping
  }

  /// Calls libcurl if its time has come.
  func actOnTimer(at now: ContinuousClock.Instant) {
    guard let timer, timer <= now else { return }
    self.timer = nil
    act(on: pk_socket_timeout, [])
  }

  /// Waits until there is something to do, and calls libcurl for each socket on which something has come.
  func actOnSockets() {
    for (socket, directions) in sockets.wait(milliseconds: pause()) { act(on: socket, directions) }
  }

  private func setTimer(_ milliseconds: Int) {
    timer = milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
  }

  private func act(on socket: Int32, _ directions: ConnectionSockets.Directions) {
    var running: Int32 = 0
    let received = directions.contains(.receiving) ? CURL_CSELECT_IN : 0
    curl_multi_socket_action(
      multi, socket, received | (directions.contains(.sending) ? CURL_CSELECT_OUT : 0), &running)
    // libcurl 7.88 opens the next address's socket when it runs the transfer the next time, for which it sets no timer.
    if sockets.takeGivenUp() { curl_multi_socket_all(multi, &running) }
  }

  /// The milliseconds until the next time of libcurl's, or of a transfer.
  private func pause() -> Int32 {
    guard let next = [timer, firstDeadline].compactMap(\.self).min() else { return Self.waitMilliseconds }
    let left = next - .now
    return left <= .zero ? 0 : min(Int32(clamping: left.milliseconds + 1), Self.waitMilliseconds)
  }

  private func fail(_ transfer: Transfer) {
    transfer.finish(.failure(TransportError.shutDown(url: transfer.request.url)))
  }

  private func handle(_ command: CurlCommand) {
    switch command {
    case .start(let transfer):
      start(transfer)
    case .resume(let transfer):
      guard let found = active[ObjectIdentifier(transfer)] else { return }
      let code = found.resume()
      // libcurl drops held bytes that the callback refuses, and would continue after them.
      if code != CURLE_OK { end(found, with: code) }
    case .sendOn(let transfer):
      guard let found = active[ObjectIdentifier(transfer)] else { return }
      let code = found.sendOn()
      if code != CURLE_OK { end(found, with: code) }
    case .cancel(let transfer):
      guard let found = active[ObjectIdentifier(transfer)] else { return }
      remove(found)
    case .stop:
      isStopping = true
    }
  }

  private func start(_ transfer: Transfer) {
    guard !transfer.isFinished else { return }  // cancelled before it began
    guard let easy = idleHandles.popLast() ?? curl_easy_init() else {
      return transfer.finish(
        .failure(TransportError.failed(url: transfer.request.url, code: 27, reason: "out of memory")))
    }
    let running = ActiveTransfer(
      transfer: transfer, easy: easy, configuration: configuration, sockets: sockets, readers: readers)
    active[ObjectIdentifier(transfer)] = running
    byHandle[easy] = running
    if let deadline = running.deadline { firstDeadline = min(firstDeadline ?? deadline, deadline) }
    let code = curl_multi_add_handle(multi, easy)
    guard code == CURLM_OK else {
      transfer.finish(
        .failure(
          TransportError.failed(
            url: transfer.request.url, code: Int(code.rawValue), reason: String(cString: curl_multi_strerror(code)))))
      return remove(running)
    }
  }

  private func collectFinished() {
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
        let finished = byHandle[easy]
      else { continue }
      let code = pk_message_result(message)
      if code == CURLE_ABORTED_BY_CALLBACK, finished.wantsOtherConnection, beginAgain(finished) { continue }
      end(finished, with: code)
    }
  }

  private func beginAgain(_ transfer: ActiveTransfer) -> Bool {
    curl_multi_remove_handle(multi, transfer.easy)
    transfer.prepareOtherConnection()
    return curl_multi_add_handle(multi, transfer.easy) == CURLM_OK
  }

  /// Ends transfers that have exceeded their total time limit. libcurl's own limit does not apply to transfers that
  /// wait for a connection.
  private func endOverdue(at now: ContinuousClock.Instant) {
    guard let first = firstDeadline, first <= now else { return }
    firstDeadline = nil
    for transfer in active.values {
      guard let deadline = transfer.deadline else { continue }
      if deadline <= now {
        transfer.timeOut()
        remove(transfer)
      } else {
        firstDeadline = min(firstDeadline ?? deadline, deadline)
      }
    }
  }

  private func end(_ transfer: ActiveTransfer, with code: CURLcode) {
    transfer.complete(code)
    remove(transfer)
  }

  /// Removes a finished transfer, whose bytes are no longer read.
  private func remove(_ transfer: ActiveTransfer) {
    // If other transfers use the connection, libcurl 7.88 keeps the held bytes of a paused transfer, and would pass
    // them to the next transfer with the same handle.
    let isClean = !transfer.isPaused || transfer.resume() == CURLE_OK
    transfer.prepareRemoval()
    curl_multi_remove_handle(multi, transfer.easy)
    active[ObjectIdentifier(transfer.transfer)] = nil
    byHandle[transfer.easy] = nil
    // A reset removes neither the share nor the cookie engine from a handle.
    if isClean, !transfer.hasJar, idleHandles.count < Self.idleHandleLimit {
      curl_easy_reset(transfer.easy)
      idleHandles.append(transfer.easy)
    } else {
      curl_easy_cleanup(transfer.easy)
    }
  }
}

/// The thread on which libcurl runs. Its end can be awaited, after which OpenSSL has freed its data of the thread.
final class CurlThread: Sendable {
  private final class Body {
    let run: @Sendable () -> Void
    let ended: AsyncStream<Void>.Continuation

    init(_ run: @escaping @Sendable () -> Void, _ ended: AsyncStream<Void>.Continuation) {
      self.run = run
      self.ended = ended
    }
  }

  private let handle: Mutex<pthread_t?>
  private let joining: Mutex<Task<Void, Never>?> = Mutex(nil)
  private let ended: AsyncStream<Void>

  /// - Throws: ``TransportError`` if the system cannot make another thread.
  init(_ run: @escaping @Sendable () -> Void) throws {
    let (ended, continuation) = AsyncStream.makeStream(of: Void.self)
    self.ended = ended
    var thread = pthread_t()
    let body = Unmanaged.passRetained(Body(run, continuation))
    let code = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        let body = Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
        Thread.current.name = "pagekit.curl"
        body.run()
        body.ended.finish()
        return nil
      }, body.toOpaque())
    guard code == 0 else {
      body.release()
      throw TransportError.failed(url: "libcurl", code: Int(code), reason: String(cString: strerror(code)))
    }
    handle = Mutex(thread)
  }

  /// A detached thread frees its resources by itself.
  deinit {
    if let thread = handle.withLock({ $0.take() }) { pthread_detach(thread) }
  }

  /// Returns when the thread has ended.
  func end() async {
    let task = joining.withLock { joining in
      if let joining { return joining }
      let task = Task {
        for await _ in ended {}
        // The thread is about to end, so that joining it does not block.
        if let thread = handle.withLock({ $0.take() }) { pthread_join(thread, nil) }
      }
      joining = task
      return task
    }
    await task.value
  }
}

/// A command from another thread to the curl thread.
enum CurlCommand: Sendable {
  case start(Transfer)
  /// Continues to receive, since the reader has made room.
  case resume(Transfer)
  /// Continues to send, since the request's body has more bytes, has ended or has failed.
  case sendOn(Transfer)
  case cancel(Transfer)
  case stop
}

/// Carries commands to the curl thread and wakes it.
final class CurlMailbox: Sendable {
  private typealias State = (commands: [CurlCommand], isClosed: Bool)

  /// An eventfd whose count changes with the first command since the last time that all were taken.
  let descriptor: Int32
  private let state = Mutex<State>(([], false))

  /// The reason why libcurl cannot be used; `nil` if it can. The first access loads it and sets it up.
  private static let problem: String? =
    pk_load_curl().map { String(cString: $0) }
    ?? (curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK ? nil : "cannot be set up")

  /// Loads libcurl and makes one of its handles.
  ///
  /// - Throws: ``TransportError`` if libcurl is not installed, or cannot be set up.
  static func handle(_ make: () -> UnsafeMutableRawPointer?) throws -> UnsafeMutableRawPointer {
    guard problem == nil, let handle = make() else {
      throw TransportError.failed(
        url: "libcurl", code: Int(CURLE_FAILED_INIT.rawValue), reason: problem ?? "cannot be set up")
    }
    return handle
  }

  /// - Throws: ``TransportError`` if the process has too many open files.
  init() throws {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    guard descriptor >= 0 else { throw TransportError.ofSystem("requests cannot be handed on") }
  }

  deinit { _ = Foundation.close(descriptor) }

  func post(_ command: CurlCommand) {
    let (isAccepted, isFirst) = state.withLock { state in
      guard !state.isClosed else { return (false, false) }
      state.commands.append(command)
      return (true, state.commands.count == 1)
    }
    // Whoever posted the first one has woken the thread for all that came since.
    if isFirst { eventfd_write(descriptor, 1) }
    if !isAccepted, case .start(let transfer) = command {
      transfer.finish(.failure(TransportError.shutDown(url: transfer.request.url)))
    }
  }

  /// Returns all commands since the last call, oldest first.
  func removeAll() -> [CurlCommand] {
    state.withLock { state in
      defer { state.commands = [] }
      return state.commands
    }
  }

  /// Refuses later commands, and returns the ones before.
  func close() -> [CurlCommand] {
    state.withLock { state in
      state.isClosed = true
      defer { state.commands.removeAll() }
      return state.commands
    }
  }
}

extension ConnectionSockets.Directions {
  /// - Parameter poll: one of `CURL_POLL_IN`, `CURL_POLL_OUT`, `CURL_POLL_INOUT` and `CURL_POLL_REMOVE`.
  fileprivate init(ofPoll poll: Int32) {
    self = []
    if poll == CURL_POLL_IN || poll == CURL_POLL_INOUT { insert(.receiving) }
    if poll == CURL_POLL_OUT || poll == CURL_POLL_INOUT { insert(.sending) }
  }
}
