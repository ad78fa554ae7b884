import Foundation
import HTTPTypes
import PageKit
import PageTesting
import Testing

struct FetchCommandTests {
  private static func fetch(_ site: Site, _ path: String, _ more: String...) async throws -> Command.Result {
    try await Command.start(["fetch", site.origin.url(for: path), "--store", site.store] + more).result()
  }

  private static func serve(_ site: Site, _ path: String, _ text: String, _ control: String) {
    site.origin.serve(path, Array(text.utf8), etag: "\"\(text)\"", headers: [.cacheControl: control])
  }

  @Test("a second fetch of a fresh response sends no request")
  func freshFetch() async throws {
    try await Site.running { site in
      Self.serve(site, "/a", "one", "max-age=60")
      let first = try await Self.fetch(site, "/a", "-i")
      #expect(first.status == 0)
      #expect(first.output.contains("Cache-Status: PageKit; fwd=uri-miss; stored"))
      #expect(first.output.hasSuffix("\n\none"))
      let second = try await Self.fetch(site, "/a", "-i")
      #expect(second.output.contains("Cache-Status: PageKit; hit"))
      #expect(second.output.contains("Age: "))
      #expect(second.output.hasSuffix("\n\none"))
      #expect(site.origin.requestCount(path: "/a") == 1)
    }
  }

  @Test("stored responses answer without a server if the policy permits it")
  func serverGone() async throws {
    try await Site.running { site in
      Self.serve(site, "/a", "one", "max-age=0")
      _ = try await Self.fetch(site, "/a")
      try await site.origin.refuseConnections()
      for policy in ["cacheFirst", "returnCacheDataElseLoad", "returnCacheDataDontLoad", "automatic", "networkFirst"] {
        let answer = try await Self.fetch(site, "/a", "--policy", policy)
        #expect(answer.output == "one", "\(policy)")
        #expect(answer.status == 0, "\(policy)")
      }
      for policy in ["networkOnly", "reloadIgnoringLocalAndRemoteCacheData", "reloadRevalidatingCacheData"] {
        let answer = try await Self.fetch(site, "/a", "--policy", policy)
        #expect(answer.status == 1, "\(policy)")
        #expect(answer.error.contains("cannot connect"), "\(policy)")
      }
    }
  }

  @Test("cacheThenNetwork ends with the network's answer, or with the error")
  func cacheThenNetwork() async throws {
    try await Site.running { site in
      Self.serve(site, "/a", "one", "max-age=60")
      _ = try await Self.fetch(site, "/a")
      Self.serve(site, "/a", "two", "max-age=60")
      #expect(try await Self.fetch(site, "/a", "--policy", "cacheThenNetwork").output == "two")
      try await site.origin.refuseConnections()
      let offline = try await Self.fetch(site, "/a", "--policy", "cacheThenNetwork")
      #expect(offline.output == "two")
      #expect(offline.status == 1)
      #expect(offline.error.contains("this is the stored answer"))
    }
  }

  @Test("method, fields and body are sent, and a POST invalidates")
  func request() async throws {
    try await Site.running { site in
      Self.serve(site, "/a", "one", "max-age=60")
      _ = try await Self.fetch(site, "/a")
      site.origin.respond("/a") { request in
        OriginResponse(body: Array("\(request.method) \(request.text) \(request.headers[.accept] ?? "")".utf8))
      }
      let answer = try await Self.fetch(site, "/a", "-d", "hello", "-H", "Accept: text/x")
      #expect(answer.output == "POST hello text/x")
      #expect(try await Self.fetch(site, "/a").output == "GET  */*")
    }
  }

  @Test("the body is written to the named file")
  func outputFile() async throws {
    try await Site.running { site in
      let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
      site.origin.serve("/a", bytes)
      let path = site.folder.file("out")
      let result = try await Self.fetch(site, "/a", "-o", path)
      #expect(result.output.isEmpty)
      #expect(FileManager.default.contents(atPath: path) == Data(bytes))
    }
  }

  @Test("an existing output file, link or device is written to in place")
  func existingOutput() async throws {
    try await Site.running { site in
      site.origin.serve("/a", Array("body".utf8))
      try site.write("something longer", to: "target")
      let link = site.folder.file("link")
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: site.folder.file("target"))
      for place in [link, "/dev/null"] {
        let result = try await Self.fetch(site, "/a", "-o", place)
        #expect(result.status == 0, "\(place)")
      }
      #expect(try String(contentsOfFile: site.folder.file("target"), encoding: .utf8) == "body")
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == site.folder.file("target"))
      let null = try FileManager.default.attributesOfItem(atPath: "/dev/null")[.type] as? FileAttributeType
      #expect(null == .typeCharacterSpecial)
    }
  }

  @Test("a failed request leaves the output file unchanged")
  func failedOutput() async throws {
    try await Site.running { site in
      site.origin.script("/a", [.closeBeforeHead])
      try site.write("precious", to: "out")
      #expect(try await Self.fetch(site, "/a", "-o", site.folder.file("out")).status == 1)
      #expect(try String(contentsOfFile: site.folder.file("out"), encoding: .utf8) == "precious")
    }
  }

  @Test("an answer that is cut off leaves the file as it was, and nothing beside it")
  func cutAnswers() async throws {
    try await Site.running { site in
      let bytes = [UInt8](repeating: 65, count: 300_000)
      site.origin.serve("/a", bytes)
      site.origin.script("/a", Array(repeating: .resetAfter(bytes: 100_000), count: 10))
      try site.write("precious", to: "files/out")
      #expect(try await Self.fetch(site, "/a", "-o", site.folder.file("files/out")).status == 1)
      #expect(try String(contentsOfFile: site.folder.file("files/out"), encoding: .utf8) == "precious")
      #expect(try FileManager.default.contentsOfDirectory(atPath: site.folder.file("files")) == ["out"])
    }
  }

  @Test("an interrupted download leaves the file as it was, and nothing beside it")
  func interruptedDownload() async throws {
    try await Site.running { site in
      site.origin.serve("/a", [UInt8](repeating: 65, count: 300_000))
      site.origin.script("/a", [.stall(afterBytes: 200_000)])
      try site.write("precious", to: "files/out")
      let running = try Command.start(
        ["fetch", site.origin.url(for: "/a"), "--store", site.store, "-o", site.folder.file("files/out")])
      while try FileManager.default.contentsOfDirectory(atPath: site.folder.file("files")).count < 2 {
        try await Task.sleep(for: .milliseconds(10))
      }
      running.send(SIGINT)
      let result = await running.result()
      #expect(result.status == 130 && !result.wasKilled)
      #expect(try String(contentsOfFile: site.folder.file("files/out"), encoding: .utf8) == "precious")
      #expect(try FileManager.default.contentsOfDirectory(atPath: site.folder.file("files")) == ["out"])
    }
  }

  @Test("the head that is printed fits the decoded body")
  func decodedHead() async throws {
    try await Site.running { site in
      // gzip of "hello"
      let encoded: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 0, 3, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0, 0,
      ]
      site.origin.serve("/a", encoded, headers: [.contentEncoding: "gzip", .cacheControl: "max-age=60"])
      for source in ["network", "cache"] {
        let result = try await Self.fetch(site, "/a", "-i")
        #expect(result.output.hasSuffix("\n\nhello"), "\(source)")
        #expect(!result.output.lowercased().contains("content-encoding"), "\(source)")
        #expect(!result.output.lowercased().contains("content-length"), "\(source)")
      }
      site.origin.serve("/b", Array("plain".utf8))
      #expect(try await Self.fetch(site, "/b", "-i").output.lowercased().contains("content-length: 5"))
    }
  }

  @Test("staleWhileRevalidate prints the stored response and refreshes it")
  func staleWhileRevalidate() async throws {
    try await Site.running { site in
      Self.serve(site, "/a", "one", "max-age=0")
      _ = try await Self.fetch(site, "/a")
      Self.serve(site, "/a", "two", "max-age=0")
      #expect(try await Self.fetch(site, "/a", "--policy", "staleWhileRevalidate").output == "one")
      #expect(try await Self.fetch(site, "/a", "--policy", "cacheOnly").output == "two")
    }
  }

  @Test("without a usable cache the request is sent, with a warning")
  func unusableCache() async throws {
    try await Site.running { site in
      site.origin.serve("/a", Array("body".utf8))
      try site.write("a file", to: "store")
      let result = try await Self.fetch(site, "/a")
      #expect(result.output == "body")
      #expect(result.status == 0)
      #expect(result.error.contains("continuing without the response cache"))
    }
  }

  @Test("other users cannot read the store")
  func filePermissions() async throws {
    try await Site.running { site in
      Self.serve(site, "/a", "one", "max-age=60")
      _ = try await Self.fetch(site, "/a")
      for name in ["responses.sqlite", "responses", "kept"] {
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(site.store)/\(name)")
        let permissions = try #require(attributes[.posixPermissions] as? Int)
        #expect(permissions & 0o077 == 0, "\(name)")
      }
    }
  }

  @Test("a password in a URL is not printed")
  func passwordInURL() async throws {
    let result = try await Command.run("fetch", "http://user:secret@127.0.0.1/")
    #expect(result.status == 1)
    #expect(!result.error.contains("secret"))
  }

  @Test("an unknown policy is an error that lists the known ones")
  func unknownPolicy() async throws {
    let result = try await Command.run("fetch", "http://127.0.0.1/", "--policy", "nonsense")
    #expect(result.status == 64)
    #expect(result.error.contains("nonsense"))
    #expect(result.error.contains("cacheThenNetwork"))
  }

  @Test("a shared cache stores responses with Set-Cookie only with the option for it")
  func sharedCookies() async throws {
    try await Site.running { site in
      site.origin.respond("/set") { _ in OriginResponse(headers: [.setCookie: "a=1", .cacheControl: "max-age=60"]) }
      for _ in 0..<2 { _ = try await Self.fetch(site, "/set", "--shared") }
      #expect(site.origin.requestCount(path: "/set") == 2)
      for _ in 0..<2 { _ = try await Self.fetch(site, "/set", "--shared", "--store-cookies") }
      #expect(site.origin.requestCount(path: "/set") == 3)
      _ = try await Self.fetch(site, "/set", "--shared")
      #expect(site.origin.requestCount(path: "/set") == 4)
    }
  }

  @Test("cookies persist from run to run")
  func cookies() async throws {
    try await Site.running { site in
      site.origin.respond("/set") { _ in OriginResponse(headers: [.setCookie: "a=1; Max-Age=100"]) }
      site.origin.respond("/get") { request in OriginResponse(body: Array((request.headers[.cookie] ?? "").utf8)) }
      _ = try await Self.fetch(site, "/set")
      #expect(try await Self.fetch(site, "/get").output == "a=1")
    }
  }
}
