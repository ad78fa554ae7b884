import Foundation
import HTTPTypes
import Testing

struct PreloadCommandTests {
  private static let texts = ["a.js": "var a = 1", "sub/b.js": "var b = 2", "i/x.png": "picture"]

  @Test("the JSON report lists what was done")
  func json() async throws {
    try await Site.running { site in
      try site.publish(Self.texts)
      let result = try await site.preload()
      #expect(result.status == 0, "\(result.error)")
      let json = try result.json
      for (key, value) in [
        "bundles": 2, "upToDate": 0, "downloaded": 2, "resumed": 0, "failed": 0, "requests": 4, "sequence": 3,
        "files": 1, "filesDownloaded": 1, "bytesDownloaded": 25,
      ] {
        #expect(json[key] as? Int == value, "\(key): \(String(describing: json[key]))")
      }
      #expect(json["release"] as? String == "r1")
      #expect(json["activated"] as? Bool == true)
      #expect(json["seconds"] is Double)
      #expect((json["failures"] as? [Any])?.isEmpty == true)
    }
  }

  @Test("a FIFO or a device in the place of a local manifest ends the run with a reason", .timeLimit(.minutes(1)))
  func irregularFiles() async throws {
    try await Site.running { site in
      let fifo = site.folder.file("fifo")
      #expect(mkfifo(fifo, 0o600) == 0)
      for path in [fifo, "/dev/zero"] {
        let result = try await Command.run("preload", "--manifest", path, "--store", site.store)
        #expect(result.status == 1)
        #expect(result.error.contains("\(path): it is not a regular file"), "\(result.error)")
      }
    }
  }

  @Test("with too little address space the run ends with the reason", arguments: [200_000, 250_000, 350_000, 500_000])
  func addressSpace(kilobytes: Int) async throws {
    try await Site.running { site in
      try site.publish(Self.texts)
      let preload = "'\(Command.executable.path)' preload --manifest \(site.manifest) --store \(site.store)"
      let run = try Command.start(shell: "ulimit -v \(kilobytes); exec \(preload)")
      let result = await run.result()
      #expect(result.status == 1)
      #expect(result.error.contains("ulimit -v"), "\(result.error)")
      #expect(site.origin.requests.isEmpty)
    }
  }

  @Test("a second run downloads nothing")
  func secondRun() async throws {
    try await Site.running { site in
      try site.publish(Self.texts)
      _ = try await site.preload()
      let json = try await site.preload().json
      #expect(json["requests"] as? Int == 1)
      #expect(json["upToDate"] as? Int == 2)
      #expect(json["downloaded"] as? Int == 0)
      #expect(json["activated"] as? Bool == false)
    }
  }

  @Test("failed bundles are named, and the exit status is 1")
  func failures() async throws {
    try await Site.running { site in
      try site.publish(Self.texts)
      site.origin.always("/b/a.js", .html("<p>sorry"))
      let result = try await site.preload()
      #expect(result.status == 1)
      let failures = try #require(try result.json["failures"] as? [[String: String]])
      #expect(failures.map { $0["name"] } == ["a"])
      #expect(failures.first?["error"]?.contains("HTML") == true)
      #expect(try result.json["downloaded"] as? Int == 1)
    }
  }

  @Test("without a terminal it prints plain lines")
  func plainOutput() async throws {
    try await Site.running { site in
      try site.publish(Self.texts)
      let result = try await Command.run("preload", "--manifest", site.manifest, "--store", site.store)
      #expect(result.status == 0)
      #expect(!result.output.contains("\u{1B}"))
      let lines = result.output.split(separator: "\n")
      #expect(lines.contains { $0.hasPrefix("stored sub/b") })
      #expect(lines.contains { $0.hasPrefix("release r1: 2 bundles, 1 file; 3 downloaded") })
    }
  }

  @Test("a retried bundle is reported with the reason")
  func triesAreSaid() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["a.js": "var a = 1"])
      site.origin.script("/b/a.js", [.status(503)])
      let result = try await Command.run("preload", "--manifest", site.manifest, "--store", site.store)
      #expect(result.status == 0)
      #expect(result.output.contains("try 2 of 4 of a in "), "\(result.output)")
      #expect(result.output.contains(": the server answers 503"), "\(result.output)")
    }
  }

  @Test("without --manifest it reads manifest.json and its files from this folder")
  func localManifest() async throws {
    try await Site.running { site in
      for (path, text) in Self.texts { try site.write(text, to: "pages/\(path)") }
      let folder = site.folder.path
      #expect(try await Command.run("manifest", "build", "pages", "-o", "manifest.json", in: folder).status == 0)
      let result = try await Command.run("preload", "--store", "store", "--json", in: folder)
      #expect(result.status == 0, "\(result.output)")
      #expect(try result.json["copied"] as? Int == 2)
      #expect(try result.json["requests"] as? Int == 0)
      let cat = try await Command.run("cat", "sub/b", "--store", "store", in: folder)
      #expect(cat.output == "var b = 2")
    }
  }

  @Test("a missing manifest is an error that names the option")
  func missingManifest() async throws {
    try await Site.running { site in
      let result = try await Command.run("preload", "--store", site.store, in: site.folder.path)
      #expect(result.status == 64)
      #expect(result.error.contains("--manifest"))
    }
  }

  @Test(
    "wrong usage has exit status 64",
    arguments: [
      ["preload", "--jobs", "0"], ["preload", "--nonsense"], ["nonsense"], ["preload", "--manifest", "ftp://h/m.json"],
      ["preload", "--manifest", "http://h/m", "--header", "no colon"], ["cat"], ["preload", "--ca-file", "/none"],
    ])
  func wrongUsage(_ arguments: [String]) async throws {
    let result = try await Command.start(arguments).result()
    #expect(result.status == 64, "\(result.error)")
    #expect(!result.error.isEmpty)
  }

  @Test("headers are sent to the origin and not logged")
  func headers() async throws {
    try await Site.running { site in
      try site.publish(Self.texts)
      let result = try await site.preload("--header", "Authorization: Bearer s3cret", "--verbose")
      #expect(result.status == 0)
      #expect(site.origin.requests.count == 4)
      #expect(site.origin.requests.allSatisfy { $0.headers[.authorization] == "Bearer s3cret" })
      #expect(!(result.output + result.error).contains("s3cret"))
    }
  }

  @Test("names restrict the preload, and --offline sends no request")
  func namesAndOffline() async throws {
    try await Site.running { site in
      try site.publish(Self.texts)
      #expect(try await site.preload("--only", "a").json["downloaded"] as? Int == 1)
      let before = site.origin.requests.count
      let offline = try await site.preload("--offline")
      #expect(offline.status == 1)
      #expect((try offline.json["failures"] as? [[String: String]])?.map { $0["name"] } == ["sub/b", "i/x.png"])
      #expect(site.origin.requests.count == before)
      _ = try await site.preload()
      #expect(try await site.preload("--offline").status == 0)
    }
  }

  @Test("an unknown release is null")
  func noRelease() async throws {
    try await Site.running { site in
      let result = try await site.preload("--offline")
      #expect(result.status == 1)
      #expect(try result.json["release"] is NSNull)
    }
  }

  @Test("lost output is a failure")
  func lostOutput() async throws {
    try await Site.running { site in
      try site.publish(Self.texts)
      let command =
        "exec '\(Command.executable.path)' preload --manifest \(site.manifest) --store '\(site.store)' --json > /dev/full"
      let result = try await Command.start(shell: command).result()
      #expect(result.status == 1)
      #expect(result.error.contains("standard output cannot be written"))
    }
  }

  @Test("a manifest that arrives at the second try is used")
  func secondTry() async throws {
    try await Site.running { site in
      try site.publish(Self.texts)
      site.origin.script("/manifest.json", [.closeBeforeHead])
      #expect(try await site.preload().json["downloaded"] as? Int == 2)
    }
  }

  @Test("an unusable store is reported in JSON too")
  func unusableStore() async throws {
    try await Site.running { site in
      try site.publish(Self.texts)
      try site.write("", to: "store")
      let result = try await site.preload()
      #expect(result.status == 1)
      let failures = try #require(try result.json["failures"] as? [[String: String]])
      #expect(failures.first?["error"]?.contains(site.store) == true)
    }
  }

  @Test("a folder that another program uses is refused with the option that names another one")
  func foreignFolder() async throws {
    try await Site.running { site in
      try site.publish(Self.texts)
      try site.write("", to: "store/blobs")
      let result = try await Command.run("preload", "--manifest", site.manifest, "--store", site.store)
      #expect(result.status == 1 && result.error.contains("name another folder with --store"), "\(result.error)")
    }
  }

  @Test("an unreachable server is reported, and the stored release stays")
  func unreachableServer() async throws {
    try await Site.running { site in
      try site.publish(Self.texts)
      _ = try await site.preload()
      try await site.origin.refuseConnections()
      let result = try await site.preload()
      #expect(result.status == 1)
      #expect(try result.json["upToDate"] as? Int == 2)
      #expect(try await Command.run("cat", "a", "--store", site.store).output == "var a = 1")
    }
  }

  @Test("two concurrent runs both succeed")
  func concurrentRuns() async throws {
    try await Site.running { site in
      try site.publish(Dictionary(uniqueKeysWithValues: (0..<60).map { ("p\($0).js", "var p = \($0)") }))
      let runs = try (0..<3).map { _ in
        try Command.start(["preload", "--manifest", site.manifest, "--store", site.store, "--json"])
      }
      for run in runs {
        let result = await run.result()
        #expect(result.status == 0, "\(result.output)\(result.error)")
      }
      let verify = try await Command.run("verify", "--store", site.store, "--json").json
      #expect(verify["ok"] as? Int == 60)
    }
  }

  @Test("the help of every command is complete")
  func help() async throws {
    for command in [
      "preload", "status", "verify", "cat", "gc", "manifest build", "manifest check", "manifest diff", "doctor",
    ] {
      let result = try await Command.start(command.split(separator: " ").map(String.init) + ["--help"]).result()
      #expect(result.status == 0)
      // The line of an option without a description ends after its name.
      for line in result.output.split(separator: "\n") where line.hasPrefix("  -") && line.count < 26 {
        #expect(line.contains("  ") || line.count > 20, "\(command): \(line)")
      }
    }
  }
}
