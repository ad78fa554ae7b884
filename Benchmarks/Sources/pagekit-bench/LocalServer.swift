import Foundation

/// A program that listens on a loopback port of its own until it is stopped.
final class LocalServer {
  let port: Int
  private let child: Child

  var origin: String { "http://127.0.0.1:\(port)" }
  var pid: Int32 { child.pid }

  /// - Parameters:
  ///   - cores: as taskset(1) has them; all of them where nil.
  ///   - arguments: of the program, once the port is known.
  init(_ program: String, cores: String? = nil, log: String, arguments: (Int) throws -> [String]) throws {
    port = try Self.freePort()
    child = try Child(
      (cores.map { ["taskset", "-c", $0] } ?? []) + [program] + (try arguments(port)), output: .file(log))
    let deadline = ContinuousClock.now + .seconds(20)
    while !Self.canConnect(to: port) {
      guard ContinuousClock.now < deadline, !child.hasEnded() else {
        throw Measurement.Failed(description: "\(program) does not start: see \(log)")
      }
      usleep(20_000)
    }
  }

  func stop() { child.stop() }

  /// nginx with the files below `root/www`.
  static func nginx(root: String, cores: String? = nil) throws -> LocalServer {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(root)/\($0);" }
    return try LocalServer("/usr/sbin/nginx", cores: cores, log: root + "/error.log") { port in
      let configuration = """
        daemon off; worker_processes 1; pid \(root)/nginx.pid; error_log \(root)/error.log;
        events { worker_connections 1024; }
        http {
          access_log off; sendfile on; tcp_nopush on; open_file_cache max=1000;
          keepalive_requests 100000000; types { text/javascript js; application/json json; }
          \(temporary.joined(separator: " "))
          server { listen 127.0.0.1:\(port); root \(root)/www; }
        }
        """
      try Data(configuration.utf8).write(to: URL(fileURLWithPath: root + "/nginx.conf"))
      return ["-c", root + "/nginx.conf", "-e", root + "/error.log"]
    }
  }

  private static func withAddress<Result>(
    port: Int, _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    return withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  private static func canConnect(to port: Int) -> Bool {
    withAddress(port: port) { connect($0, $1, $2) == 0 }
  }

  private static func freePort() throws -> Int {
    let port = withAddress(port: 0) { descriptor, address, size -> Int in
      guard bind(descriptor, address, size) == 0 else { return 0 }
      var bound = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let result = withUnsafeMutablePointer(to: &bound) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
      }
      return result == 0 ? Int(in_port_t(bigEndian: bound.sin_port)) : 0
    }
    guard port > 0 else { throw Measurement.Failed(description: "no free port on loopback") }
    return port
  }
}
