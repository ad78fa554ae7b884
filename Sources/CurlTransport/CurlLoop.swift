import CCurl
import HTTPTransport

/// The loop of the curl thread, which owns all handles of transfers and is the only one that calls libcurl for them.
final class CurlLoop {
  private let mailbox: CurlMailbox
  private let configuration: CurlTransport.Configuration
  private var active: [ObjectIdentifier: ActiveTransfer] = [:]
  private var byHandle: [UnsafeMutableRawPointer: ActiveTransfer] = [:]
  private var idleHandles: [UnsafeMutableRawPointer] = []
  private let sockets: ConnectionSockets
  private let readers = PendingReaders()
  private var isStopping = false

  /// The handles that are used again. Before 8.1.0 libcurl keeps a pointer to the last field of a handle's former
  /// transfer, which it has freed: a head that begins with a folded line would end the process.
  private static let idleHandleLimit = curl_version_info(CURLVERSION_FIRST).pointee.version_num >= 0x08_01_00 ? 32 : 0
  /// libcurl ends the wait earlier for timers of its own.
  private static let pollMilliseconds: Int32 = 60_000

  init(mailbox: CurlMailbox, configuration: CurlTransport.Configuration) {
    self.mailbox = mailbox
    self.configuration = configuration
    sockets = ConnectionSockets(connections: configuration.connections)
    let multi = mailbox.multi
    let pipelining = configuration.sharesConnections ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING
    _ = pk_multi_setopt_long(multi, CURLMOPT_PIPELINING, Int(pipelining))
    _ = pk_multi_setopt_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, configuration.connectionsPerHost)
    _ = pk_multi_setopt_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, configuration.connections)
    _ = pk_multi_setopt_long(multi, CURLMOPT_MAXCONNECTS, configuration.connections)
  }

  func run() {
    while true {
      for command in mailbox.take() { handle(command) }
      if isStopping { break }
      var running: Int32 = 0
      curl_multi_perform(mailbox.multi, &running)
      collectFinished()
      readers.wake()
      curl_multi_poll(mailbox.multi, nil, 0, endOverdue(), nil)
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
    curl_multi_cleanup(mailbox.multi)
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
      if code != .ok { end(found, with: code) }
    case .sendOn(let transfer):
      guard let found = active[ObjectIdentifier(transfer)] else { return }
      let code = found.sendOn()
      if code != .ok { end(found, with: code) }
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
    let code = curl_multi_add_handle(mailbox.multi, easy)
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
    while let message = curl_multi_info_read(mailbox.multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
        let finished = byHandle[easy]
      else { continue }
      let code = CurlCode(pk_message_result(message))
      if code == .abortedByCallback, finished.wantsOtherConnection, beginAgain(finished) { continue }
      end(finished, with: code)
    }
  }

  private func beginAgain(_ transfer: ActiveTransfer) -> Bool {
    curl_multi_remove_handle(mailbox.multi, transfer.easy)
    transfer.prepareOtherConnection()
    return curl_multi_add_handle(mailbox.multi, transfer.easy) == CURLM_OK
  }

  /// Ends transfers that have exceeded their total time limit. libcurl's own limit does not apply to transfers that
  /// wait for a connection.
  ///
  /// - Returns: the milliseconds until the next check.
  private func endOverdue() -> Int32 {
    let now = ContinuousClock.now
    var pause = Self.pollMilliseconds
    for transfer in active.values {
      guard let deadline = transfer.deadline else { continue }
      if deadline <= now {
        transfer.timeOut()
        remove(transfer)
      } else {
        pause = min(pause, Int32(clamping: (deadline - now).milliseconds + 1))
      }
    }
    return pause
  }

  private func end(_ transfer: ActiveTransfer, with code: CurlCode) {
    transfer.complete(code)
    remove(transfer)
  }

  /// Removes a finished transfer, whose bytes are no longer read.
  private func remove(_ transfer: ActiveTransfer) {
    // If other transfers use the connection, libcurl 7.88 keeps the held bytes of a paused transfer, and would pass
    // them to the next transfer with the same handle.
    let isClean = !transfer.isPaused || transfer.resume() == .ok
    transfer.prepareRemoval()
    curl_multi_remove_handle(mailbox.multi, transfer.easy)
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
