import Foundation

/// renderhost beside nginx, which has the same files, and Varnish, which keeps what nginx gave it.
///
/// Each server has the first core for itself and wrk the second, so that what is compared is the work for one answer.
struct HostBenchmark {
  let renderhost: String
  let folder: String
  let rounds: Int

  private static let (serverCore, clientCore) = ("0", "1")
  private static let connections = 32

  func run(_ table: inout Table) throws {
    let root = folder + "/host"
    try? FileManager.default.removeItem(atPath: root)
    let files = root + "/www/bundles"
    try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
    let script = "// { \"framework\": \"Vanilla\" }\n" + String(repeating: "var x = 1234567890;\n", count: 3275)
    try Data(script.utf8.prefix(64 << 10)).write(to: URL(fileURLWithPath: files + "/script.js"))
    try Data("abc".utf8).write(to: URL(fileURLWithPath: files + "/three.txt"))

    let nginx = try LocalServer.nginx(root: root, cores: Self.serverCore)
    defer { nginx.stop() }
    let varnish = try LocalServer("varnishd", cores: Self.serverCore, log: root + "/varnish.log") { port in
      [
        "-F", "-j", "none", "-n", root + "/varnish", "-a", "127.0.0.1:\(port)", "-b", "127.0.0.1:\(nginx.port)",
        "-s", "default,64m", "-t", "3600",
      ]
    }
    defer { varnish.stop() }
    let host = try RunningHost(
      renderhost, bundles: files, store: root + "/store", workers: 1, cores: Self.serverCore, log: root + "/host.log")
    defer { host.stop() }

    let servers = [host.server, nginx, varnish]
    try compare("64 KiB script", "/bundles/script.js", servers, &table)
    try compare("the same, not modified", "/bundles/script.js", servers, isConditional: true, &table)
    try compare("3 bytes", "/bundles/three.txt", servers, &table)
  }

  private func compare(
    _ name: String, _ path: String, _ servers: [LocalServer], isConditional: Bool = false, _ table: inout Table
  ) throws {
    var rates: [[Double]] = servers.map { _ in [] }
    let fields = try servers.map { server in
      isConditional ? ["If-None-Match: \(try Self.etag(of: server.origin + path))"] : []
    }
    for round in 0...rounds {
      for (index, server) in servers.enumerated() {
        let load = try Load(
          server.origin + path, connections: Self.connections, seconds: round == 0 ? 1 : 3, cores: Self.clientCore,
          fields: fields[index])
        if round > 0 { rates[index].append(load.rate) }  // the first warms up
      }
    }
    let medians = rates.map(Measurement.median)
    table.add(
      name, "\(Int(medians[0]))/s", "\(Int(medians[1]))/s", "\(Int(medians[2]))/s",
      Figures.ratio(medians[1] / medians[0]), Figures.ratio(medians[2] / medians[0]))
  }

  private static func etag(of url: String) throws -> String {
    let head = try Measurement.output(["curl", "-sI", url])
    let line = head.split(whereSeparator: \.isNewline).first { $0.lowercased().hasPrefix("etag:") }
    guard let etag = line?.dropFirst("etag:".count).drop(while: { $0 == " " }), !etag.isEmpty else {
      throw Measurement.Failed(description: "\(url) has no ETag: \(head)")
    }
    return String(etag)
  }
}
