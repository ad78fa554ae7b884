import CCurl
import HTTPTransport
import Synchronization

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
  /// Shared between threads only for `curl_multi_wakeup`, which libcurl allows from any thread; ``CurlLoop`` makes all
  /// other calls.
  private struct Handle: @unchecked Sendable {
    let multi: UnsafeMutableRawPointer
  }

  private struct State {
    var commands: [CurlCommand] = []
    var isClosed = false
  }

  private let handle: Handle
  private let state = Mutex(State())

  /// `true` if libcurl can be used. The first access sets libcurl up.
  static let initialised: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  init() throws {
    guard Self.initialised, let multi = curl_multi_init() else {
      throw TransportError.failed(url: "libcurl", code: Int(CURLE_FAILED_INIT.rawValue), reason: "cannot be set up")
    }
    handle = Handle(multi: multi)
  }

  /// The multi handle, for the curl thread only.
  var multi: UnsafeMutableRawPointer { handle.multi }

  func post(_ command: CurlCommand) {
    let isAccepted = state.withLock { state in
      guard !state.isClosed else { return false }
      state.commands.append(command)
      // Under the lock, since libcurl's handle is gone once the mailbox is closed.
      curl_multi_wakeup(handle.multi)
      return true
    }
    if !isAccepted, case .start(let transfer) = command {
      transfer.finish(.failure(TransportError.shutDown(url: transfer.request.url)))
    }
  }

  /// Returns all commands since the last call, oldest first.
  func take() -> [CurlCommand] {
    state.withLock { state in
      defer { state.commands.removeAll() }
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
