import Foundation

/// Clients that ask for one path again and again, each on a connection of its own. A client that is refused comes again
/// when `Retry-After` says.
///
/// They are run as a process of its own, so that the daemon's machine is shared with one process only.
enum Clients {
  /// The first argument of a process that is some.
  static let command = "clients"

  struct Result: Codable {
    /// Answers of each status.
    var statuses: [Int: Int] = [:]
    /// Seconds that each answer with status 200 took, in order.
    var times: [Double] = []
    /// Seconds from the first request to the end.
    var duration = 0.0

    var rate: Double { duration > 0 ? Double(times.count) / duration : 0 }
    /// Answers with any other status than 200 and 503, and connections that ended without one (0).
    var failures: Int { statuses.reduce(0) { $0 + ([200, 503].contains($1.key) ? 0 : $1.value) } }

    func time(below share: Double) -> Double? {
      times.isEmpty ? nil : times[min(times.count - 1, Int(Double(times.count) * share))]
    }
  }

  /// - Throws: ``Measurement/Failed``.
  static func run(_ path: String, port: Int, clients: Int, seconds: Int) throws -> Result {
    let text = try Measurement.output([CommandLine.arguments[0], command, "\(port)", path, "\(clients)", "\(seconds)"])
    return try JSONDecoder().decode(Result.self, from: Data(text.utf8))
  }

  /// The same, beside what else is done until it is finished.
  static func start(_ path: String, port: Int, clients: Int, seconds: Int) throws -> Child {
    try Child([CommandLine.arguments[0], command, "\(port)", path, "\(clients)", "\(seconds)"])
  }

  /// What such a process does.
  static func main(_ arguments: [String]) throws {
    guard arguments.count == 4, let port = Int(arguments[0]), let clients = Int(arguments[2]),
      let seconds = Double(arguments[3])
    else { throw Measurement.Failed(description: "usage: \(command) PORT PATH CLIENTS SECONDS") }
    var crowd = try (0..<clients).map { _ in Client(try LocalServer.connection(to: port)) }
    let request = Array("GET \(arguments[1]) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8)
    var result = Result()
    let start = now()
    while now() - start < seconds {
      for index in crowd.indices where !crowd[index].isWaiting && crowd[index].due <= now() {
        try crowd[index].ask(request, port)
      }
      var polled = crowd.map { pollfd(fd: $0.isWaiting ? $0.socket : -1, events: Int16(POLLIN), revents: 0) }
      guard poll(&polled, nfds_t(polled.count), 20) > 0 else { continue }
      for (index, client) in polled.enumerated() where client.revents != 0 {
        guard let status = crowd[index].read() else { continue }
        result.statuses[status, default: 0] += 1
        if status == 200 { result.times.append(now() - crowd[index].asked) }
      }
    }
    result.duration = now() - start
    result.times.sort()
    FileHandle.standardOutput.write(try JSONEncoder().encode(result))
  }

  private static func now() -> Double { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 }

  private struct Client {
    var socket: Int32
    var isWaiting = false
    var asked = 0.0
    /// When it asks again.
    var due = 0.0
    private var answer: [UInt8] = []

    init(_ socket: Int32) { self.socket = socket }

    mutating func ask(_ request: [UInt8], _ port: Int) throws {
      if socket < 0 { socket = try LocalServer.connection(to: port) }
      (answer, asked, isWaiting) = ([], now(), true)
      _ = request.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// - Returns: the status of an answer that is whole; 0 where the connection has ended without one.
    mutating func read() -> Int? {
      var bytes = [UInt8](repeating: 0, count: 1 << 16)
      let count = recv(socket, &bytes, bytes.count, 0)
      guard count > 0 else {
        close(socket)
        (socket, isWaiting, due) = (-1, false, now() + 0.1)
        return 0
      }
      answer += bytes[..<count]
      guard let end = answer.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
      let head = String(decoding: answer[..<end.lowerBound], as: UTF8.self).lowercased()
      let isWhole =
        value("content-length", in: head).map { answer.count >= end.upperBound + $0 }
        ?? answer.suffix(7).elementsEqual("\r\n0\r\n\r\n".utf8)
      guard isWhole else { return nil }
      let status = Int(head.dropFirst(9).prefix(3)) ?? 0
      isWaiting = false
      due = status == 503 ? now() + Double(value("retry-after", in: head) ?? 1) : 0
      return status
    }

    private func value(_ field: String, in head: String) -> Int? {
      head.split(separator: "\r\n").first { $0.hasPrefix(field + ":") }
        .flatMap { Int($0.dropFirst(field.count + 1).drop { $0 == " " }) }
    }
  }
}
