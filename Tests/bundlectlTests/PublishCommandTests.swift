import Foundation
import PageTesting
import TestSupport
import Testing

/// `bundlectl publish` and `bundlectl releases`, as a publisher uses them.
struct PublishCommandTests {
  private static func running(_ body: (TestBucket, TemporaryDirectory) async throws -> Void) async throws {
    try await FaultOrigin.running { (origin: FaultOrigin) async throws in
      try await body(TestBucket(on: origin), try TemporaryDirectory())
    }
  }

  private static func write(_ path: String, _ text: String, _ folder: TemporaryDirectory) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file(path)))
  }

  @Test("a release is published, preloaded by a host, replaced, gone back to, and removed")
  func life() async throws {
    try await Self.running { (bucket: TestBucket, folder: TemporaryDirectory) async throws in
      let environment = bucket.environment
      try Self.write("home.js", "// 1", folder)
      let first = try await Command.run(
        "publish", folder.path, "s3://bucket/app", "--release", "r1", environment: environment)
      #expect(first.status == 0, "\(first.error)")
      #expect(first.output == "1 content uploaded, 4 B\n✓ release r1 is current now\n")

      try Self.write("home.js", "// 2", folder)
      let second = try await Command.run(
        "publish", folder.path, "s3://bucket/app", "--release", "r2", "--json", environment: environment)
      let json = try second.json
      #expect(json["release"] as? String == "r2" && json["former"] as? String == "r1")
      #expect(json["uploaded"] as? Int == 1 && json["sequence"] as? Int == 2)

      let again = try await Command.run("publish", folder.path, "s3://bucket/app", environment: environment)
      #expect(again.output == "release r2 is published already\n")

      let list = try await Command.run("releases", "s3://bucket/app", environment: environment)
      let lines = list.output.split(separator: "\n")
      #expect(lines.count == 2 && lines[0].hasPrefix("r2  current  published "), "\(list.output)\(list.error)")
      #expect(lines.last?.hasPrefix("r1  former   published ") == true)

      let unknown = try await Command.run("releases", "use", "r9", "s3://bucket/app", environment: environment)
      #expect(
        unknown.error.contains(#"has no release "r9": "bundlectl releases s3://bucket/app/" shows what it has"#),
        "\(unknown.error)")
      let use = try await Command.run("releases", "use", "r1", "s3://bucket/app", environment: environment)
      #expect(use.output == "✓ release r1 is current now, in the place of r2\n")

      bucket.advance(by: 3 * 86_400)
      let trial = try await Command.run(
        "releases", "gc", "s3://bucket/app", "--keep", "0", "--dry-run", environment: environment)
      #expect(trial.output.contains("would remove release r2\n") && trial.output.contains("would remove 2 files"))
      let count = bucket.objects.count
      let collected = try await Command.run(
        "releases", "gc", "s3://bucket/app", "--keep", "0", environment: environment)
      #expect(collected.status == 0 && bucket.objects.count == count - 2, "\(collected.output)\(collected.error)")
    }
  }

  @Test("a release whose page fails beside the current one is refused by the gate, and nothing is published")
  func gate() async throws {
    let page = """
      // { "framework": "Vanilla" }
      var d = weex.document, b = d.createBody('div');
      b.appendChild(d.createElement('text', { attr: { value: 'a' } }));
      d.documentElement.appendChild(b);

      """
    try await Self.running { (bucket: TestBucket, folder: TemporaryDirectory) async throws in
      func publish(_ more: String...) async throws -> Command.Result {
        try await Command.start(
          ["publish", folder.path, "s3://bucket/app"] + more, environment: bucket.environment
        ).result()
      }
      try Self.write("home.js", page, folder)
      try Self.write("gate.json", "{}", folder)
      let first = try await publish("--release", "r1", "--gate")
      #expect(first.status == 0 && first.output.hasPrefix("1 content uploaded"), "\(first.error)")
      let objects = bucket.objects

      try Self.write("home.js", page + "gone();", folder)
      let refused = try await publish("--release", "r2", "--gate", "--json")
      #expect(refused.status == 1, "\(refused.error)")
      #expect((try refused.json["error"] as? String)?.hasPrefix("the gate refuses release r2: home: threw") == true)
      #expect((try refused.json["gate"] as? [String: Any])?["former"] as? String == "r1")
      #expect(bucket.objects == objects)

      // The same exception is known once it is published.
      #expect(try await publish("--release", "r2", "--gate=warn").status == 0)
      try Self.write("home.js", page + "// 3\ngone();", folder)
      let known = try await publish("--release", "r3", "--gate", "--json")
      #expect(known.status == 0, "\(known.error)")
      #expect((try known.json["gate"] as? [String: Any])?["refused"] as? Bool == false)
    }
  }

  @Test(
    "a journal that cannot be one is named",
    arguments: [
      (["--journal", "10.0.0.1"], "--journal must be the URL of a NATS server, such as nats://10.0.0.1:4222"),
      (["--journal", "nats://a", "--fleet", "a.b"], "--fleet must be 1 to 32 letters, digits, hyphens"),
    ])
  func journal(_ options: [String], _ message: String) async throws {
    let result = try await Command.start(["publish", "/", "s3://bucket/app"] + options).result()
    #expect(result.status == 64 && result.error.contains(message), "\(result.error)")
  }

  @Test("a host preloads from where the release was published, with the public URL of its pointer")
  func preload() async throws {
    try await Self.running { (bucket: TestBucket, folder: TemporaryDirectory) async throws in
      try Self.write("home.js", "// 1", folder)
      _ = try await Command.run(
        "publish", folder.path, "s3://bucket/app", "--release", "r1", environment: bucket.environment)
      // As a content delivery network before the bucket has it.
      for (key, object) in bucket.objects {
        bucket.origin.serve("/cdn/\(key.dropFirst("app/".count))", object.bytes, etag: "\"\(key)\"")
      }
      let store = try TemporaryDirectory()
      let result = try await Command.run(
        "preload", "--manifest", bucket.origin.url(for: "/cdn/current.json"), "--store", store.path)
      #expect(result.status == 0 && result.output.contains("release r1"), "\(result.output)\(result.error)")
      let text = try await Command.run(
        "cat", bucket.origin.url(for: "/cdn/home.js"), "--store", store.path)
      #expect(text.output == "// 1")
      let check = try await Command.run("manifest", "check", bucket.origin.url(for: "/cdn/current.json"))
      #expect(check.output.contains("is valid: release r1, 1 bundle"))
    }
  }

  @Test("doctor says if several people can publish", arguments: [true, false])
  func doctor(_ isConditional: Bool) async throws {
    try await Self.running { (bucket: TestBucket, folder: TemporaryDirectory) async throws in
      bucket.setConditional(isConditional)
      let result = try await Command.run(
        "doctor", "--releases", "s3://bucket/app", "--store", folder.path, environment: bucket.environment)
      #expect(
        result.output.contains(
          isConditional
            ? "✓ releases   s3://bucket/app can be written, and nothing is published yet\n"
            : "✗ releases   s3://bucket/app: the store does not refuse a write whose If-Match does not hold"),
        "\(result.output)\(result.error)")
      #expect(bucket.objects.isEmpty)
    }
  }

  @Test(
    "wrong arguments are refused with what to write",
    arguments: [
      (["publish", ".", "bucket/app"], "bucket/app is no place in an object store: write s3://BUCKET/PREFIX"),
      (["publish", ".", "s3://bucket/app", "--percent", "101"], "--percent must be from 0 to 100."),
      (
        ["publish", ".", "s3://bucket/app", "--expires-in", "1d"],
        "A key that signs, and --expires-in, need each other."
      ),
      (["releases", "gc", "s3://bucket/app", "--keep=-1"], "--keep must not be negative."),
    ])
  func usage(_ arguments: [String], _ message: String) async throws {
    let result = try await Command.start(arguments).result()
    #expect(result.status == 64 && result.error.contains(message), "\(result.error)")
  }

  @Test("a key that the store refuses is named with the variables, and nothing of it is shown")
  func refused() async throws {
    try await Self.running { (bucket: TestBucket, folder: TemporaryDirectory) async throws in
      var environment = bucket.environment
      environment["AWS_ACCESS_KEY_ID"] = "other"
      environment["AWS_SECRET_ACCESS_KEY"] = "hidden-text"
      try Self.write("home.js", "// 1", folder)
      let result = try await Command.run("publish", folder.path, "s3://bucket/app", environment: environment)
      #expect(result.status == 1 && result.error.contains("403 AccessDenied: check AWS_ACCESS_KEY_ID"))
      #expect(!result.error.contains("hidden-text"))
      let empty = try await Command.run("releases", "s3://bucket/app", environment: bucket.environment)
      #expect(empty.error.contains("nothing is published there: run \"bundlectl publish DIR s3://bucket/app/\" first"))
    }
  }
}
