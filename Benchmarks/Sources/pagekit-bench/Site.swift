import Foundation
import PageKit

/// Bundles in a folder, served by an nginx of our own on a loopback port.
final class Site {
  let root: String
  let port: Int
  private let nginx: Process

  var manifest: String { "http://127.0.0.1:\(port)/manifest.json" }

  /// - Parameter sizes: of each bundle, in bytes.
  init(root: String, sizes: [Int]) throws {
    self.root = root
    let files = FileManager.default
    try? files.removeItem(atPath: root)
    try files.createDirectory(atPath: root + "/www/b", withIntermediateDirectories: true)
    var entries: [Manifest.Entry] = []
    var state: UInt64 = 2026
    for (index, size) in sizes.enumerated() {
      var text = "// { \"framework\": \"Vanilla\" }\n"
      text.reserveCapacity(size + 32)
      while text.utf8.count < size {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        text += "var x" + String(state >> 20, radix: 36) + " = " + String(state >> 40) + ";\n"
      }
      let bytes = Array(text.utf8.prefix(size))
      try Data(bytes).write(to: URL(fileURLWithPath: "\(root)/www/b/p\(index).js"))
      let digests = try ContentDigests(of: bytes)
      entries.append(.init(name: "p\(index)", path: "p\(index).js", size: digests.size, md5: digests.md5))
    }
    let manifest = Manifest(release: "bench", sequence: 1, base: "b/", bundles: entries)
    try JSONEncoder().encode(manifest).write(to: URL(fileURLWithPath: root + "/www/manifest.json"))
    port = try Self.freePort()
    nginx = try Self.startNginx(root: root, port: port)
  }

  func stop() {
    nginx.terminate()
    nginx.waitUntilExit()
  }

  private static func startNginx(root: String, port: Int) throws -> Process {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(root)/\($0);" }
    let configuration = """
      daemon off; worker_processes 1; pid \(root)/nginx.pid; error_log \(root)/error.log;
      events { worker_connections 1024; }
      http {
        access_log off; sendfile on; keepalive_requests 100000; types { text/javascript js; application/json json; }
        \(temporary.joined(separator: " "))
        server { listen 127.0.0.1:\(port); root \(root)/www; }
      }
      """
    try Data(configuration.utf8).write(to: URL(fileURLWithPath: root + "/nginx.conf"))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/sbin/nginx")
    process.arguments = ["-c", root + "/nginx.conf", "-e", root + "/error.log"]
    try process.run()
    let deadline = ContinuousClock.now + .seconds(10)
    while !canConnect(to: port) {
      guard ContinuousClock.now < deadline, process.isRunning else {
        throw Measurement.Failed(description: "nginx does not start: see \(root)/error.log")
      }
      usleep(20_000)
    }
    return process
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
