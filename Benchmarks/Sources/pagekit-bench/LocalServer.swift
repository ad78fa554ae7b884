import Foundation

/// A program that listens on a loopback port of its own until it is stopped.
final class LocalServer {
  let port: Int
  private let child: Child
  private let isSecure: Bool

  var origin: String { "\(isSecure ? "https" : "http")://127.0.0.1:\(port)" }
  var pid: Int32 { child.pid }

  /// - Parameters:
  ///   - cores: as taskset(1) has them; all of them where nil.
  ///   - arguments: of the program, once the port is known.
  init(
    _ program: String, cores: String? = nil, isSecure: Bool = false, log: String, arguments: (Int) throws -> [String]
  ) throws {
    port = try Self.freePort()
    self.isSecure = isSecure
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
  ///
  /// - Parameters:
  ///   - keepsFilesOpen: `false` for files that change: nginx looks at a file it keeps open once a minute.
  ///   - certificate: for TLS 1.3, with HTTP/2; `nil` for plain HTTP.
  ///   - http: more of its configuration, outside its one server.
  ///   - locations: more of its configuration, for that server.
  static func nginx(
    root: String, cores: String? = nil, keepsFilesOpen: Bool = true, certificate: Certificate? = nil,
    http: String = "", locations: () -> String = { "" }
  ) throws -> LocalServer {
    let tls = certificate.map {
      "ssl_certificate \($0.certificate); ssl_certificate_key \($0.key); ssl_protocols TLSv1.3;"
    }
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(root)/\($0);" }
    return try LocalServer("/usr/sbin/nginx", cores: cores, isSecure: tls != nil, log: root + "/error.log") { port in
      let configuration = """
        daemon off; worker_processes 1; pid \(root)/nginx.pid; error_log \(root)/error.log;
        events { worker_connections 4096; }
        http {
          access_log off; sendfile on; tcp_nopush on; \(keepsFilesOpen ? "open_file_cache max=1000;" : "")
          keepalive_requests 100000000; types { text/javascript js; application/json json; }
          \(temporary.joined(separator: " "))
          \(http)
          server { listen 127.0.0.1:\(port) \(tls == nil ? "" : "ssl http2") backlog=4096; \(tls ?? "") root \(root)/www; \(locations()) }
        }
        """
      try Data(configuration.utf8).write(to: URL(fileURLWithPath: root + "/nginx.conf"))
      return ["-c", root + "/nginx.conf", "-e", root + "/error.log"]
    }
  }

  /// A connection to a port on loopback.
  ///
  /// - Throws: ``Measurement/Failed``.
  static func connection(to port: Int) throws -> Int32 {
    let connected = withAddress(port: port, closes: false) { descriptor, address, size in
      connect(descriptor, address, size) == 0 ? descriptor : -1
    }
    guard connected >= 0 else { throw Measurement.Failed(description: "nobody listens on port \(port)") }
    return connected
  }

  /// A socket that listens on a free port of loopback.
  ///
  /// - Throws: ``Measurement/Failed``.
  static func listener() throws -> (socket: Int32, port: Int) {
    let port = try freePort()
    let listening = withAddress(port: port, closes: false) { descriptor, address, size in
      bind(descriptor, address, size) == 0 && listen(descriptor, 1024) == 0 ? descriptor : -1
    }
    guard listening >= 0 else { throw Measurement.Failed(description: "cannot listen on port \(port)") }
    return (listening, port)
  }

  /// Bytes of it and what it has started, each shared page counted in part by everyone who has it.
  var proportionalBytes: Int64 { Self.proportionalBytes(of: pid) }

  /// The same, without what it has started, and that alone.
  var proportionalBytesApart: (own: Int64, children: Int64) {
    (Self.ownProportionalBytes(of: pid), Self.children(of: pid).reduce(0) { $0 + Self.proportionalBytes(of: $1) })
  }

  /// Seconds of processor time of it, and of all that it has started.
  var processorSeconds: (own: Double, children: Double) {
    (Self.processorSeconds(of: pid), Self.children(of: pid).reduce(0) { $0 + Self.processorSeconds(of: $1) })
  }

  /// proc(5): the name may have spaces; user and system time are the 14th and the 15th field.
  private static func processorSeconds(of pid: Int32) -> Double {
    let text = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
    let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  static func proportionalBytes(of pid: Int32) -> Int64 {
    children(of: pid).reduce(ownProportionalBytes(of: pid)) { $0 + proportionalBytes(of: $1) }
  }

  private static func ownProportionalBytes(of pid: Int32) -> Int64 {
    let rollup = (try? String(contentsOfFile: "/proc/\(pid)/smaps_rollup", encoding: .utf8)) ?? ""
    let line = rollup.split(separator: "\n").first { $0.hasPrefix("Pss:") }
    return (line?.split(separator: " ").dropFirst().first.flatMap { Int64($0) } ?? 0) << 10
  }

  private static func children(of pid: Int32) -> [Int32] {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
    return tasks.flatMap { task in
      let text = try? String(contentsOfFile: "/proc/\(pid)/task/\(task)/children", encoding: .utf8)
      return (text ?? "").split(separator: " ").compactMap { Int32($0) }
    }
  }

  private static func withAddress<Result>(
    port: Int, closes: Bool = true, _ body: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { if closes { close(descriptor) } }
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

  static func freePort() throws -> Int {
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
