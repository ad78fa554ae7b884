import Foundation
import PageKit
import PageTesting
import TestServers
import Testing

/// Preloads from nginx over TLS and HTTP/2.
@Suite(.enabled(if: NginxServer.isInstalled, "nginx is not installed"), .timeLimit(.minutes(2)))
struct NginxTests {
  private static func site(pages: Int) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    var manifest = Manifest(release: "n1", sequence: 1, base: "b/", bundles: [])
    for page in 0..<pages {
      let bytes = Array("var page = \(page);\n\(String(repeating: "// filler\n", count: page * 40))".utf8)
      files["b/p\(page).js"] = bytes
      let digests = try ContentDigests(of: bytes)
      manifest.bundles.append(
        .init(name: "p\(page)", path: "p\(page).js", size: digests.size, md5: digests.md5, sha256: digests.sha256))
    }
    files["manifest.json"] = Array(try JSONEncoder().encode(manifest))
    return files
  }

  @Test("a release needs one connection, and one request to confirm it")
  func oneConnection() async throws {
    try await NginxServer.running(serving: Self.site(pages: 40)) { server in
      let folder = try TemporaryDirectory()
      let arguments = [
        "preload", "--manifest", server.url(for: "/manifest.json"), "--store", folder.file("store"), "--ca-file",
        server.certificateAuthority, "--json",
      ]
      let first = try await Command.start(arguments).result()
      #expect(first.status == 0, "\(first.output)\(first.error)")
      #expect(try first.json["downloaded"] as? Int == 40)
      let accesses = try await server.accesses(41)
      #expect(accesses.count == 41)
      #expect(Set(accesses.map { $0[1] }) == ["HTTP/2.0"])
      #expect(Set(accesses.map { $0[0] }).count == 1)

      let second = try await Command.start(arguments).result()
      #expect(try second.json["requests"] as? Int == 1)
      #expect(try second.json["upToDate"] as? Int == 40)
      let verify = try await Command.start(
        ["verify", "--server", "--store", folder.file("store"), "--ca-file", server.certificateAuthority, "--json"]
      ).result()
      #expect(verify.status == 0, "\(verify.output)")
    }
  }

  @Test("an untrusted certificate is refused")
  func untrustedCertificate() async throws {
    try await NginxServer.running(serving: Self.site(pages: 1)) { server in
      let folder = try TemporaryDirectory()
      let result = try await Command.run(
        "preload", "--manifest", server.url(for: "/manifest.json"), "--store", folder.file("store"), "--json")
      #expect(result.status == 1)
      let failures = try #require(try result.json["failures"] as? [[String: String]])
      #expect(failures.first?["error"]?.contains("no secure connection") == true)
    }
  }
}
