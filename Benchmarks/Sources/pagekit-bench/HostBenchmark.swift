import Foundation

/// renderhost beside nginx, which has the same files, and Varnish, which keeps what nginx gave it.
///
/// Each server has the first core for itself and wrk the second, so that what is compared is the work for one answer.
struct HostBenchmark {
  /// The folder of renderhost and bare-server.
  let programs: String
  let folder: String
  let rounds: Int

  private static let (serverCore, clientCore) = ("0", "1")
  private static let connections = 32

  private var renderhost: String { programs + "/renderhost" }

  private var root: String { folder + "/host" }

  /// - Returns: the folder of the files.
  private func makeFiles() throws -> String {
    try? FileManager.default.removeItem(atPath: root)
    let files = root + "/www/bundles"
    try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
    let script = "// { \"framework\": \"Vanilla\" }\n" + String(repeating: "var x = 1234567890;\n", count: 3275)
    try Data(script.utf8.prefix(64 << 10)).write(to: URL(fileURLWithPath: files + "/script.js"))
    try Data(script.utf8.prefix(1 << 10)).write(to: URL(fileURLWithPath: files + "/small.js"))
    try Data("abc".utf8).write(to: URL(fileURLWithPath: files + "/three.txt"))
    return files
  }

  /// Over TLS 1.3, beside nginx and, for HTTP/2, the server of the library that speaks it for renderhost, which sends few
  /// fields and no 304: a ceiling. Varnish does not speak it.
  func runSecure(_ table: inout Table) throws {
    let files = try makeFiles()
    let certificate = try Certificate(in: root)
    let nginx = try LocalServer.nginx(root: root, cores: Self.serverCore, certificate: certificate)
    defer { nginx.stop() }
    let host = try RunningHost(
      renderhost, bundles: files, store: root + "/store", workers: 1, cores: Self.serverCore, certificate: certificate,
      log: root + "/host.log")
    defer { host.stop() }
    let ceiling = try LocalServer("nghttpd", cores: Self.serverCore, isSecure: true, log: root + "/nghttpd.log") {
      ["-n1", "-a", "127.0.0.1", "-d", root + "/www", "\($0)", certificate.key, certificate.certificate]
    }
    defer { ceiling.stop() }
    let rows = [
      ("1 KiB script", "/bundles/small.js", false), ("64 KiB script", "/bundles/script.js", false),
      ("the same, not modified", "/bundles/script.js", true),
    ]
    for (name, path, isConditional) in rows {
      for version in [Load.Version.http1, .http2] {
        let servers = [host.server, nginx] + (version == .http2 && !isConditional ? [ceiling] : [])
        let medians = try rates(of: path, servers, isConditional, version).map(Measurement.median)
        let isBeside = medians.count > 2
        table.add(
          "\(name), \(version.rawValue)", "\(Int(medians[0]))/s", "\(Int(medians[1]))/s",
          isBeside ? "\(Int(medians[2]))/s" : "", Figures.ratio(medians[0] / medians[1]),
          isBeside ? Figures.ratio(medians[0] / medians[2]) : "")
      }
    }
  }

  func run(_ table: inout Table) throws {
    let files = try makeFiles()
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

    let bare = try LocalServer(programs + "/bare-server", cores: Self.serverCore, log: root + "/bare.log") {
      ["\($0)", "304"]
    }
    defer { bare.stop() }

    let servers = [host.server, nginx, varnish]
    try compare("64 KiB script", "/bundles/script.js", servers, &table)
    try compare("the same, not modified", "/bundles/script.js", servers + [bare], isConditional: true, &table)
    try compare("3 bytes", "/bundles/three.txt", servers, &table)
  }

  private func compare(
    _ name: String, _ path: String, _ servers: [LocalServer], isConditional: Bool = false, _ table: inout Table
  ) throws {
    let medians = try rates(of: path, servers, isConditional, .http1).map(Measurement.median)
    table.add(
      name, "\(Int(medians[0]))/s", "\(Int(medians[1]))/s", "\(Int(medians[2]))/s",
      medians.count > 3 ? "\(Int(medians[3]))/s" : "", Figures.ratio(medians[1] / medians[0]),
      Figures.ratio(medians[2] / medians[0]))
  }

  private func rates(
    of path: String, _ servers: [LocalServer], _ isConditional: Bool, _ version: Load.Version
  ) throws -> [[Double]] {
    var rates: [[Double]] = servers.map { _ in [] }
    let fields = try servers.map { server in
      isConditional ? ["If-None-Match: \(try Self.etag(of: server.origin + path))"] : []
    }
    for round in 0...rounds {
      for (index, server) in servers.enumerated() {
        let (url, seconds) = (server.origin + path, round == 0 ? 1 : 3)
        let rate =
          switch version {
          case .http1:
            try Load(
              url, connections: Self.connections, seconds: seconds, cores: Self.clientCore, fields: fields[index]
            ).rate
          case .http2:
            try Load.rateOfStreams(
              url, connections: Self.connections, seconds: seconds, cores: Self.clientCore, fields: fields[index])
          }
        if round > 0 { rates[index].append(rate) }  // the first warms up
      }
    }
    return rates
  }

  private static func etag(of url: String) throws -> String {
    let head = try Measurement.output(["curl", "-skI", url])
    let line = head.split(whereSeparator: \.isNewline).first { $0.lowercased().hasPrefix("etag:") }
    guard let etag = line?.dropFirst("etag:".count).drop(while: { $0 == " " }), !etag.isEmpty else {
      throw Measurement.Failed(description: "\(url) has no ETag: \(head)")
    }
    return String(etag)
  }
}
