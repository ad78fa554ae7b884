import Foundation

/// An origin that keeps nothing, and three caches in front of it.
final class GatewayServers {
  let root: String
  let slow: SlowOrigin
  let origin: LocalServer
  let host: RunningHost
  let nginx: LocalServer
  let varnish: LocalServer
  /// The HTTP server and client that renderhost is built on, with nothing between and nothing stored.
  let bare: LocalServer
  /// The same HTTP server with a client of SwiftNIO's on its event loop in the place of libcurl.
  let bareNIO: LocalServer

  static let token = "a token of the benchmark"

  /// - Parameters:
  ///   - programs: the folder of renderhost and bare-server.
  ///   - cacheCore: for each of the caches, which are asked one after the other.
  ///   - originCore: for the origin.
  init(programs: String, root: String, cacheCore: String, originCore: String) throws {
    self.root = root
    try? FileManager.default.removeItem(atPath: root)
    for folder in ["origin/www", "nginx"] {
      try FileManager.default.createDirectory(atPath: "\(root)/\(folder)", withIntermediateDirectories: true)
    }
    for (name, size) in [("1k", 1 << 10), ("64k", 64 << 10)] {
      let bytes = Data((0..<size).map { UInt8(32 + $0 % 90) })
      try bytes.write(to: URL(fileURLWithPath: "\(root)/origin/www/\(name)"))
    }
    slow = try SlowOrigin()
    origin = try .nginx(root: root + "/origin", cores: originCore, http: "") { [slow] in
      Self.originLocations(slowPort: slow.port)
    }
    // With tcp_nopush it waits 40 ms for the acknowledgement of each longer answer's first part.
    nginx = try .nginx(
      root: root + "/nginx", cores: cacheCore,
      http: """
        proxy_cache_path \(root)/nginx/cache levels=1:2 keys_zone=kept:64m max_size=4g inactive=1h use_temp_path=off;
        upstream origin { server 127.0.0.1:\(origin.port); keepalive 128; }
        """
    ) {
      """
      location / {
        tcp_nopush off; proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";
        proxy_cache kept; proxy_cache_lock on;
      }
      """
    }
    try Data(Self.varnishConfiguration(originPort: origin.port).utf8).write(
      to: URL(fileURLWithPath: root + "/varnish.vcl"))
    varnish = try LocalServer("varnishd", cores: cacheCore, log: root + "/varnish.log") { port in
      [
        "-F", "-j", "none", "-n", root + "/varnish", "-a", "127.0.0.1:\(port)", "-f", root + "/varnish.vcl",
        "-s", "default,1g",
      ]
    }
    bare = try LocalServer(programs + "/bare-server", cores: cacheCore, log: root + "/bare.log") { [origin] port in
      ["\(port)", origin.origin]
    }
    bareNIO = try LocalServer(programs + "/bare-server", cores: cacheCore, log: root + "/bare-nio.log") {
      [origin] port in ["\(port)", "nio", origin.origin]
    }
    host = try RunningHost(
      programs + "/renderhost", bundles: nil, store: root + "/store", cores: cacheCore,
      gateway: (origin: origin.origin, adminToken: Self.token), log: root + "/host.log")
  }

  func stop() {
    host.stop()
    bare.stop()
    bareNIO.stop()
    varnish.stop()
    nginx.stop()
    origin.stop()
    slow.stop()
  }

  /// The ports of the caches, in the table's order.
  var ports: [Int] { [host.gatewayPort, nginx.port, varnish.port] }

  /// The caches, in the table's order.
  var caches: [LocalServer] { [host.server, nginx, varnish] }

  /// Takes what has a tag out of the cache with an index; nil where it has no such thing.
  func purge(_ tag: String, at index: Int) -> [String]? {
    switch index {
    case 0:
      [
        "curl", "-sf", "-H", "Authorization: Bearer \(Self.token)", "-H", "Content-Type: application/json",
        "-d", #"{"tag": "\#(tag)"}"#, host.server.origin + "/admin/gateway/purge",
      ]
    case 2: ["curl", "-sf", "-X", "BAN", "-H", "X-Tag: \(tag)", varnish.origin]
    default: nil
    }
  }

  private static func originLocations(slowPort: Int) -> String {
    """
    default_type text/plain; add_header Cache-Control max-age=3600;
    location /new/ { rewrite ^ /1k break; }
    location /pass { add_header Cache-Control no-store; rewrite ^ /1k break; }
    location /slow/ { proxy_pass http://127.0.0.1:\(slowPort); }
    location ~ ^/tagged/([0-9])/ {
      add_header Cache-Control max-age=3600; add_header Cache-Tag tag$1; rewrite ^ /1k break;
    }
    """
  }

  private static func varnishConfiguration(originPort: Int) -> String {
    """
    vcl 4.1;
    backend origin { .host = "127.0.0.1"; .port = "\(originPort)"; }
    sub vcl_recv {
      if (req.method == "BAN") {
        ban("obj.http.Cache-Tag == " + req.http.X-Tag);
        return (synth(200));
      }
    }
    """
  }
}
