import Foundation
import PageTesting

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A TCP client that records the received bytes and the end of the connection.
///
/// Its thread reads into a transcript, so that waiting for bytes blocks no thread of Swift's pool.
final class RawClient: Sendable {
  enum End: Equatable, Sendable {
    case closed
    case reset
    case failed(Int32)
  }

  struct Transcript: Sendable {
    var bytes: [UInt8] = []
    var end: End?

    var text: String { String(decoding: bytes, as: UTF8.self) }
  }

  struct ConnectError: Error, Equatable {
    let code: Int32
  }

  private final class Descriptor: Sendable {
    let number: Int32

    init(_ number: Int32) { self.number = number }

    deinit { close(number) }
  }

  private let descriptor: Descriptor
  private let transcript = Monitor(Transcript())

  /// - Parameter readsAtOnce: `false` to read nothing before ``startReading()``.
  init(_ origin: FaultOrigin, readsAtOnce: Bool = true) throws {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    descriptor = Descriptor(number)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(origin.port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw ConnectError(code: errno) }
    if readsAtOnce { startReading() }
  }

  deinit { leave() }

  func startReading() {
    Thread.detachNewThread { [descriptor, transcript] in
      var buffer = [UInt8](repeating: 0, count: 64 * 1024)
      while true {
        let count = recv(descriptor.number, &buffer, buffer.count, 0)
        let code = errno
        if count > 0 {
          transcript.change { $0.bytes.append(contentsOf: buffer[..<count]) }
        } else {
          transcript.change { $0.end = count == 0 ? .closed : code == ECONNRESET ? .reset : .failed(code) }
          return
        }
      }
    }
  }

  func write(_ bytes: some Sequence<UInt8>) {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        send(descriptor.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Sends a request with a `Host` field and these.
  func request(_ path: String, _ fields: [String] = [], method: String = "GET", body: String? = nil) {
    var lines = ["\(method) \(path) HTTP/1.1", "Host: 127.0.0.1"] + fields
    if let body { lines.append("Content-Length: \(body.utf8.count)") }
    write((lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")).utf8)
  }

  /// Closes the connection.
  func leave() {
    shutdown(descriptor.number, Int32(SHUT_RDWR))
  }

  /// The bytes received so far.
  var received: Transcript { transcript.read { $0 } }

  /// Waits until the transcript satisfies a condition.
  @discardableResult
  func receive(until isEnough: @escaping @Sendable (Transcript) -> Bool) async throws -> Transcript {
    try await transcript.wait(within: .seconds(20), until: isEnough) { TooLittle(transcript: $0) }
    return received
  }

  func receive(_ text: String) async throws -> Transcript {
    try await receive { $0.text.contains(text) }
  }

  func receiveToEnd() async throws -> Transcript {
    try await receive { $0.end != nil }
  }

  struct TooLittle: Error {
    let transcript: Transcript
  }
}

/// The parts of a response, with its framing unchanged.
struct RawResponse: Sendable {
  let statusLine: String
  private let fields: [String: String]
  let body: [UInt8]
  let end: RawClient.End?

  init(_ transcript: RawClient.Transcript) throws {
    let marker = Array("\r\n\r\n".utf8)
    guard let border = transcript.bytes.firstRange(of: marker) else {
      throw RawClient.TooLittle(transcript: transcript)
    }
    let head = String(decoding: transcript.bytes[..<border.lowerBound], as: UTF8.self)
    let lines = head.split(separator: "\r\n").map(String.init)
    statusLine = lines.first ?? ""
    fields = lines.dropFirst().reduce(into: [:]) { fields, line in
      let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      if parts.count == 2 { fields[parts[0].lowercased()] = parts[1] }
    }
    body = Array(transcript.bytes[border.upperBound...])
    end = transcript.end
  }

  var status: Int { Int(statusLine.split(separator: " ").dropFirst().first ?? "") ?? 0 }

  var text: String { String(decoding: body, as: UTF8.self) }

  subscript(name: String) -> String? { fields[name.lowercased()] }
}

extension FaultOrigin {
  /// Sends one request on its own connection, and reads to the connection's end.
  func fetch(
    _ path: String, _ fields: [String] = [], method: String = "GET", body: String? = nil
  ) async throws -> RawResponse {
    let client = try RawClient(self)
    client.request(path, ["Connection: close"] + fields, method: method, body: body)
    return try RawResponse(try await client.receiveToEnd())
  }

  /// The received bytes of one request, complete or not.
  func wire(_ path: String, _ fields: [String] = []) async throws -> RawClient.Transcript {
    let client = try RawClient(self)
    client.request(path, fields)
    return try await client.receiveToEnd()
  }
}
