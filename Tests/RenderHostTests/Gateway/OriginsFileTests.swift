import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import PageKit
import Testing

@testable import CacheGateway
@testable import RenderHost
@testable import ServerKit

struct OriginsFileTests {
  private func file(_ origins: String) throws -> SettingsFile {
    try SettingsFile(Data("{\"gateway\": \"127.0.0.1:0\", \"origins\": \(origins)}".utf8), path: "/etc/c.json")
  }

  @Test("every key of an origin is read")
  func everyKey() throws {
    let text = """
      [{"name": "api", "url": "https://API.example.com", "hosts": ["api.Example.com", "*.shop.example"],
        "prefixes": ["/v1/"], "connections": 7, "waiting": 3, "connect-time": "250ms", "idle-time": 9,
        "max-answer": "3MB", "memory": "2MB", "disk": "5MB", "ca": "/ca.pem", "failures": 4, "rest": 1,
        "longest-rest": "2m", "forwarding": "both", "etag-up-to": "64KB", "targets": ["My-Cache-Control"],
        "codings": ["gzip"], "health-path": "/up?a", "health-interval": 3,
        "behavior": "staleWhileRevalidate",
        "rules": [{"match": "/v1/news/*", "behavior": "cacheFirst", "exactly": "10m"}, {"match": "/*", "at-most": 5},
                  {"match": "/menu", "set-cookie": "store", "behavior": "protocolCache"}]},
       {"name": "rest", "urls": ["http://127.0.0.1:9", "https://b.example"]}]
      """
    let origins = try #require(try file(text).origins)
    let api = try #require(origins.first)
    #expect(api.name == "api" && api.url.origin == "https://api.example.com")
    #expect(api.hosts == ["api.example.com", "*.shop.example"] && api.prefixes == ["/v1/"])
    #expect(api.connections == 7 && api.waiting == 3)
    #expect(api.connectTime == .milliseconds(250) && api.idleTime == .seconds(9))
    #expect(api.answerLimit == 3 << 20 && api.memory == 2 << 20 && api.disk == 5 << 20)
    #expect(api.certificateAuthorities == "/ca.pem" && api.forwarding == .both && api.tagLimit == 64 << 10)
    #expect(api.patience == .init(failures: 4, rest: .seconds(1), longestRest: .seconds(120)))
    #expect(api.targets.map(\.canonicalName) == ["my-cache-control"] && api.behavior == .staleWhileRevalidate)
    #expect(api.rules.map(\.behavior) == [.cacheFirst, nil, .protocolCache])
    #expect(api.rules.map(\.lifetime) == [.exactly(600), .atMost(5), .server])
    #expect(api.rules.map(\.sharesCookies) == [false, false, true])
    #expect(api.codings == ["gzip"] && api.healthPath == "/up?a" && api.healthInterval == .seconds(3))
    #expect(api.servers.map(\.origin) == ["https://api.example.com"])
    #expect(origins.last?.servers.map(\.origin) == ["http://127.0.0.1:9", "https://b.example"])
    #expect(origins.last?.name == "rest" && origins.last?.behavior == .protocolCache)
  }

  @Test(
    "an invalid origin is an error that names the place",
    arguments: [
      (#"{}"#, "list"), (#"[1]"#, "origins[0]"), (#"[{"name": "a"}]"#, "url"),
      (#"[{"url": "http://a.example"}]"#, "name"),
      (#"[{"name": "A b", "url": "http://a.example"}]"#, "lowercase letters"),
      (#"[{"name": "a", "url": "http://a.example/x"}]"#, "without a path"),
      (#"[{"name": "a", "url": "ftp://a.example"}]"#, "http or https"),
      (#"[{"name": "a", "url": "http://a.example", "conections": 1}]"#, "conections"),
      (#"[{"name": "a", "url": "http://a.example", "connections": 0}]"#, "from 1 to"),
      (#"[{"name": "a", "url": "http://a.example", "idle-time": "100ms"}]"#, "1 second"),
      (#"[{"name": "a", "url": "http://a.example", "connections": [1]}]"#, "a text or a number"),
      (#"[{"name": "a", "url": "http://a.example", "hosts": "a"}]"#, "a list"),
      (#"[{"name": "a", "url": "http://a.example", "hosts": ["a:80"]}]"#, "without a port"),
      (#"[{"name": "a", "url": "http://a.example", "prefixes": ["v1"]}]"#, "a path"),
      (#"[{"name": "a", "url": "http://a.example", "behavior": "fast"}]"#, "protocolCache"),
      (#"[{"name": "a", "url": "http://a.example", "urls": ["http://b.example"]}]"#, "either url or urls"),
      (#"[{"name": "a", "urls": ["http://b.example/x"]}]"#, "without a path"), (#"[{"name": "a", "urls": []}]"#, "url"),
      (#"[{"name": "a", "url": "http://a.example", "codings": ["GZIP;q=1"]}]"#, "content coding"),
      (#"[{"name": "a", "url": "http://a.example", "health-path": "up"}]"#, "a path"),
      (#"[{"name": "a", "url": "http://a.example", "health-interval": 0}]"#, "a time"),
      (#"[{"name": "a", "url": "http://a.example", "forwarding": "x"}]"#, "x-forwarded"),
      (#"[{"name": "a", "url": "http://a.example", "targets": ["a b"]}]"#, "field's name"),
      (#"[{"name": "a", "url": "http://a.example", "rules": [{}]}]"#, "rules[0]"),
      (#"[{"name": "a", "url": "http://a.example", "rules": [{"match": "/", "max": 1}]}]"#, "max"),
      (#"[{"name": "a", "url": "http://a.example", "rules": [{"match": "/", "set-cookie": "no"}]}]"#, "pass or store"),
      (#"[{"name": "a", "url": "http://a.example"}, {"name": "a", "url": "http://b.example", "hosts": ["b"]}]"#, "two"),
      (#"[{"name": "a", "url": "http://a.example"}, {"name": "b", "url": "http://b.example"}]"#, "claim the same"),
    ])
  func invalidOrigins(_ text: String, _ named: String) throws {
    let error = #expect(throws: SettingsError.self) { try file(text) }
    let description = try #require(error?.description)
    #expect(description.contains("/etc/c.json") && description.contains(named), "\(description)")
  }

  @Test("--origin and origins in the file exclude each other")
  func flagAndFile() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "origins-\(UUID()).json").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data(#"{"gateway": "127.0.0.1:0", "origins": [{"name": "a", "url": "http://a.example"}]}"#.utf8)
      .write(to: URL(fileURLWithPath: path))
    let merged = try SettingsReader(flags: [:], environment: [:], file: path).merged()
    #expect(merged.settings.gateway.origins.map(\.name) == ["a"])
    #expect(SettingsReport(merged.settings, sources: merged.sources).text.contains("origins[a]"))
    let error = #expect(throws: SettingsError.self) {
      try SettingsReader(flags: [.origin: ["http://b.example"]], environment: [:], file: path).merged()
    }
    #expect(error?.description.contains("--origin") == true)
  }
}
