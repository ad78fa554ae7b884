import CCurl
import HTTPTransport
import Synchronization

/// What other threads may ask of the curl thread.
enum CurlCommand: Sendable {
  case start(Transfer)
  /// The reader has made room.
  case resume(Transfer)
  /// The request's body goes on, has ended or has failed.
  case sendOn(Transfer)
  case cancel(Transfer)
  case stop
}

/// Carries commands to the curl thread and wakes it.
final class CurlMailbox: Sendable {
  /// Handed between threads only for `curl_multi_wakeup`, the one call that libcurl allows from any thread;
  /// all others are made by ``CurlLoop`` on its own.
  private struct Handle: @unchecked Sendable {
    let multi: UnsafeMutableRawPointer
  }

  private struct State {
    var commands: [CurlCommand] = []
    var isClosed = false
  }

  private let handle: Handle
  private let state = Mutex(State())

  /// libcurl can be used. Looking at it sets libcurl up.
  static let initialised: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  init() throws {
    guard Self.initialised, let multi = curl_multi_init() else {
      throw TransportError.failed(url: "libcurl", code: Int(CURLE_FAILED_INIT.rawValue), reason: "cannot be set up")
    }
    handle = Handle(multi: multi)
  }

  /// To be used on the curl thread only.
  var multi: UnsafeMutableRawPointer { handle.multi }

  func post(_ command: CurlCommand) {
    let isAccepted = state.withLock { state in
      guard !state.isClosed else { return false }
      state.commands.append(command)
      // Under the lock: once the mailbox is closed, libcurl's handle is gone.
      curl_multi_wakeup(handle.multi)
      return true
    }
    if !isAccepted, case .start(let transfer) = command {
      transfer.finish(.failure(TransportError.shutDown(url: transfer.request.url)))
    }
  }

  /// All commands since the last call, oldest first.
  func take() -> [CurlCommand] {
    state.withLock { state in
      defer { state.commands.removeAll() }
      return state.commands
    }
  }

  /// Refuses everything from now on; returns what had come before.
  func close() -> [CurlCommand] {
    state.withLock { state in
      state.isClosed = true
      defer { state.commands.removeAll() }
      return state.commands
    }
  }
}
