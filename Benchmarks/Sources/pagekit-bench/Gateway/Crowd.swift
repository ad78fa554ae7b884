import Foundation

/// Many clients that ask for the same at once.
///
/// It is run as a process of its own, so that it can have a core of its own.
enum Crowd {
  /// The first argument of a process that is one.
  static let command = "crowd"

  /// - Returns: seconds until the last client had its answer.
  /// - Throws: ``Measurement/Failed``.
  static func seconds(of path: String, port: Int, clients: Int, cores: String) throws -> Double {
    let text = try Measurement.output(
      ["taskset", "-c", cores, CommandLine.arguments[0], command, "\(port)", path, "\(clients)"])
    guard let seconds = Double(text.split(separator: "\n").first ?? "") else {
      throw Measurement.Failed(description: "the clients of \(path): \(text)")
    }
    return seconds
  }

  /// What such a process does.
  static func run(_ arguments: [String]) throws {
    guard arguments.count == 3, let port = Int(arguments[0]), let clients = Int(arguments[2]) else {
      throw Measurement.Failed(description: "usage: \(command) PORT PATH CLIENTS")
    }
    var waiting = try (0..<clients).map { _ in
      pollfd(fd: try LocalServer.connection(to: port), events: Int16(POLLIN), revents: 0)
    }
    var answers: [Int32: [UInt8]] = [:]
    let request = Array("GET \(arguments[1]) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8)
    let start = ContinuousClock.now
    for client in waiting {
      guard request.withUnsafeBytes({ send(client.fd, $0.baseAddress, $0.count, 0) }) == request.count else {
        throw Measurement.Failed(description: "a request cannot be sent")
      }
    }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    while !waiting.isEmpty {
      guard poll(&waiting, nfds_t(waiting.count), 20_000) > 0 else {
        throw Measurement.Failed(description: "\(waiting.count) of \(clients) clients have no answer")
      }
      try waiting.removeAll { client in
        guard client.revents != 0 else { return false }
        let read = recv(client.fd, &bytes, bytes.count, 0)
        let answer = answers[client.fd, default: []] + bytes.prefix(max(0, read))
        answers[client.fd] = answer
        guard read > 0, answer.starts(with: "HTTP/1.1 200".utf8) else {
          throw Measurement.Failed(description: "an answer was \(String(decoding: answer, as: UTF8.self))")
        }
        return answer.suffix(SlowOrigin.mark.utf8.count + 8).contains(SlowOrigin.mark.utf8)
      }
    }
    print(Measurement.seconds(since: start))
  }
}
