import CCurl
import CLinux
import Foundation
import HTTPTransport

/// The sockets that libcurl waits for, in one epoll descriptor, and the ends of its connections of HTTP/1. Lives on the curl
/// thread.
///
/// A socket whose connection is idle stays registered: the next transfer on it most often waits for the same. libcurl
/// tells when it closes a connection's socket; of others, such as those of a name lookup, and, in 7.88, of those that it
/// gives up while they connect, it tells no more than that it waits for them no longer.
final class ConnectionSockets {
  private struct Socket {
    enum State {
      /// It belongs to no connection, as that of a name lookup.
      case lookup
      /// It belongs to a connection, of which nothing was to be received yet.
      case connecting
      /// The connection was made, and libcurl tells when it closes the socket.
      case made
    }

    var state: State
    /// The directions that libcurl waits for.
    var wanted: Directions = []
    /// Those that the descriptor has.
    var registered: Directions = []
    /// The ends of the connection once a transfer of HTTP/1 has ended on it: libcurl 7.88 gives the socket only then.
    var ends: Ends?
  }

  /// The ends of a connection, by which libcurl names it before a request.
  struct Ends: Hashable {
    let address: String
    let port: Int
    let ownPort: Int
  }

  /// The directions in which libcurl waits for a socket, or something has come.
  struct Directions: OptionSet {
    let rawValue: UInt32

    static let receiving = Directions(rawValue: UInt32(EPOLLIN.rawValue))
    static let sending = Directions(rawValue: UInt32(EPOLLOUT.rawValue))
  }

  /// A socket, and the directions in which something has come.
  typealias Event = (socket: Int32, directions: Directions)

  private let epoll: Int32
  private let mailbox: Int32
  private var sockets: [Int32: Socket] = [:]
  private var hasGivenUp = false
  private var socketsByEnds: [Ends: Int32] = [:]
  private var ready = [epoll_event](repeating: epoll_event(), count: 64)
  private var events: [Event] = []

  private static let failures = UInt32(EPOLLERR.rawValue | EPOLLHUP.rawValue)
  /// A number of `EPOLLET` that fits.
  private static let onChange = UInt32(1) << 31

  /// - Parameter mailbox: a descriptor that has bytes when there is something else to do; they are not read.
  /// - Throws: ``TransportError`` if the process has too many open files.
  init(mailbox: Int32) throws {
    self.mailbox = mailbox
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard epoll >= 0 else { throw TransportError.ofSystem("cannot wait for sockets") }
    guard control(EPOLL_CTL_ADD, mailbox, UInt32(EPOLLIN.rawValue) | Self.onChange) else {
      let error = TransportError.ofSystem("cannot wait for requests")
      _ = Foundation.close(epoll)
      throw error
    }
  }

  deinit { _ = Foundation.close(epoll) }

  // MARK: Told by libcurl

  /// libcurl has opened a connection's socket.
  func opened(_ socket: Int32) { sockets[socket] = Socket(state: .connecting) }

  /// libcurl closes a connection's socket.
  func close(_ socket: Int32) -> Int32 {
    if let known = sockets.removeValue(forKey: socket) {
      // A child that is just being started may have the socket too.
      if !known.registered.isEmpty { control(EPOLL_CTL_DEL, socket, 0) }
      if let ends = known.ends, socketsByEnds[ends] == socket { socketsByEnds[ends] = nil }
    }
    return Foundation.close(socket)
  }

  /// libcurl waits for a socket in other directions than before; in none once a transfer has ended.
  func wait(for socket: Int32, _ directions: Directions) {
    var known = sockets[socket] ?? Socket(state: .lookup)
    known.wanted = directions
    if directions.contains(.receiving), known.state == .connecting { known.state = .made }
    if directions.isEmpty, known.state != .made {
      if known.state == .connecting { hasGivenUp = true }
      // It may be closed by now.
      if !known.registered.isEmpty { control(EPOLL_CTL_DEL, socket, 0) }
      sockets[socket] = nil
      return
    }
    if !directions.isEmpty { register(socket, &known) }
    sockets[socket] = known
  }

  /// Returns `true` if libcurl has given up an address since the last call: the socket of a connection that was not made.
  func takeGivenUp() -> Bool {
    defer { hasGivenUp = false }
    return hasGivenUp
  }

  private func register(_ socket: Int32, _ known: inout Socket) {
    guard known.wanted != known.registered else { return }
    let isNew = known.registered.isEmpty
    // The number may be another socket's than the one that was registered.
    if control(isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, known.wanted.rawValue)
      || control(isNew ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, known.wanted.rawValue)
    {
      known.registered = known.wanted
    }
  }

  @discardableResult
  private func control(_ operation: Int32, _ socket: Int32, _ events: UInt32) -> Bool {
    var event = epoll_event()
    event.events = events
    event.data.fd = socket
    return epoll_ctl(epoll, operation, socket, &event) == 0
  }

  // MARK: Waiting

  /// Waits until libcurl has something to do for a socket, or there is mail.
  ///
  /// - Returns: the events of libcurl's sockets; none after the time.
  func wait(milliseconds: Int32) -> [Event] {
    events.removeAll(keepingCapacity: true)
    let count = epoll_wait(epoll, &ready, Int32(ready.count), milliseconds)
    for event in ready.prefix(Int(max(count, 0))) where event.data.fd != mailbox {
      let socket = event.data.fd
      guard var known = sockets[socket] else { continue }
      // As poll(2) does for libcurl: what has ended can be read and written, which then fails.
      let came =
        event.events & Self.failures != 0 ? known.wanted : known.wanted.intersection(.init(rawValue: event.events))
      guard !came.isEmpty else {
        // An idle connection has unasked bytes or its end: the next transfer sees to that.
        control(EPOLL_CTL_DEL, socket, 0)
        known.registered = []
        sockets[socket] = known
        continue
      }
      events.append((socket, came))
    }
    return events
  }

  // MARK: Used connections

  /// Records the connection of a transfer that has ended, while libcurl still knows it.
  func record(_ easy: UnsafeMutableRawPointer) {
    var socket: curl_socket_t = -1
    var (version, port, ownPort) = (0, 0, 0)
    var address: UnsafeMutableRawPointer?
    guard pk_getinfo_socket(easy, CURLINFO_ACTIVESOCKET, &socket) == CURLE_OK, socket >= 0,
      sockets[socket]?.ends == nil,
      // On HTTP/2 connections, frames of other streams and of the server may arrive at any time.
      pk_getinfo_long(easy, CURLINFO_HTTP_VERSION, &version) == CURLE_OK, version < pk_http_version_2_0,
      pk_getinfo_long(easy, CURLINFO_PRIMARY_PORT, &port) == CURLE_OK,
      pk_getinfo_long(easy, CURLINFO_LOCAL_PORT, &ownPort) == CURLE_OK,
      pk_getinfo_pointer(easy, CURLINFO_PRIMARY_IP, &address) == CURLE_OK, let address
    else { return }
    let text = String(cString: UnsafePointer(address.assumingMemoryBound(to: CChar.self)))
    let ends = Ends(address: text, port: port, ownPort: ownPort)
    // The whole response may have been there before libcurl waited for it.
    var known = sockets[socket] ?? Socket(state: .made)
    (known.state, known.ends) = (.made, ends)
    sockets[socket] = known
    socketsByEnds[ends] = socket
  }

  /// Returns `true` if a reused connection has bytes, or its end, to be read before the request is sent. Such bytes
  /// belong to no outstanding request, and must not be read as a response. RFC 9112 §9.2.
  ///
  /// Under TLS, bytes in the same record as the end of the last response are not detected: they have left the socket.
  func hasUnaskedBytes(on ends: Ends) -> Bool {
    guard let socket = socketsByEnds[ends] else { return false }
    var byte: UInt8 = 0
    return recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) >= 0
  }
}

extension TransportError {
  /// The error of the last system call.
  static func ofSystem(_ what: String) -> TransportError {
    .failed(url: "libcurl", code: Int(errno), reason: "\(what): \(String(cString: strerror(errno)))")
  }
}
