import CurlTransport
import Foundation
import HTTPTransport
import HTTPTypes
import PageTesting
import Publishing
import TestSupport
import Testing

struct S3StoreTests {
  /// Runs a body with an empty bucket, and a store of the location `s3://bucket/app/`.
  private static func running(
    _ body: (TestBucket, S3Store) async throws -> Void
  ) async throws {
    try await FaultOrigin.running { (origin: FaultOrigin) async throws in
      let bucket = TestBucket(on: origin)
      let location = try #require(S3Location("s3://bucket/app"))
      let transport = try CurlTransport()
      try await body(
        bucket,
        try S3Store(
          location, access: try S3Access(environment: bucket.environment), transport: transport,
          sleep: { _ in try Task.checkCancellation() }))
    }
  }

  @Test("an object is written, read, and removed")
  func object() async throws {
    try await Self.running { (bucket: TestBucket, store: S3Store) async throws in
      #expect(try await store.object("a/b.txt", upTo: 100) == nil)
      #expect(try await store.properties(of: "a/b.txt") == nil)
      let tag = try await store.write("a/b.txt", .bytes(Array("abc".utf8)), type: "text/plain", lifetime: .forever)
      bucket.advance(by: 90)
      let found = try #require(try await store.object("a/b.txt", upTo: 100))
      #expect(found.bytes == Array("abc".utf8) && found.etag == tag)
      let properties = try #require(try await store.properties(of: "a/b.txt"))
      #expect(properties.size == 3 && properties.age == .seconds(90))
      #expect(properties.md5 == (try MD5Digest(of: Array("abc".utf8))))
      let object = try #require(bucket.objects["app/a/b.txt"])
      #expect(object.fields[.cacheControl] == "public, max-age=31536000, immutable")
      try await store.remove("a/b.txt")
      try await store.remove("a/b.txt")
      #expect(bucket.objects.isEmpty)
    }
  }

  @Test("a file is streamed, with its digest in the signature")
  func file() async throws {
    try await Self.running { (bucket: TestBucket, store: S3Store) async throws in
      let folder = try TemporaryDirectory()
      let bytes = [UInt8](repeating: 7, count: 700_000)
      try Data(bytes).write(to: URL(fileURLWithPath: folder.path + "/f"))
      let content = S3Store.Content.file(path: folder.path + "/f", size: 700_000, sha256: try SHA256Digest(of: bytes))
      // The request is sent again, from the file's beginning.
      bucket.origin.script("/bucket/app/f", [.status(503)])
      _ = try await store.write("f", content, type: "application/octet-stream", lifetime: .forever)
      #expect(bucket["app/f"] == bytes)
      #expect(bucket.origin.requestCount(path: "/bucket/app/f") == 2)
    }
  }

  @Test("a write whose condition does not hold changes nothing")
  func conditions() async throws {
    try await Self.running { (bucket: TestBucket, store: S3Store) async throws in
      let first = try await store.write("p", .bytes([1]), type: "t", lifetime: .checked, if: .isNew)
      let tag = try #require(first)
      await #expect(throws: ObjectStoreError.self) {
        try await store.write("p", .bytes([2]), type: "t", lifetime: .checked, if: .isNew)
      }
      try await store.write("p", .bytes([3]), type: "t", lifetime: .checked, if: .unchanged(etag: tag))
      let error = await #expect(throws: ObjectStoreError.self) {
        try await store.write("p", .bytes([4]), type: "t", lifetime: .checked, if: .unchanged(etag: tag))
      }
      #expect(error?.isConflict == true && error?.code == "PreconditionFailed")
      #expect(bucket["app/p"] == [3])
    }
  }

  @Test("a store that compares tags without their quotes is given them so, and still refuses")
  func bareTags() async throws {
    try await Self.running { (bucket: TestBucket, store: S3Store) async throws in
      bucket.setWantsBareTags()
      let first = try await store.write("p", .bytes([1]), type: "t", lifetime: .checked, if: .isNew)
      let tag = try #require(first)
      try await store.write("p", .bytes([2]), type: "t", lifetime: .checked, if: .unchanged(etag: tag))
      #expect(bucket["app/p"] == [2])
      await #expect(throws: ObjectStoreError.self) {
        try await store.write("p", .bytes([3]), type: "t", lifetime: .checked, if: .unchanged(etag: tag))
      }
      #expect(bucket["app/p"] == [2])
    }
  }

  @Test("a store that ignores conditions is found out, and nothing stays there", arguments: [true, false])
  func support(_ isConditional: Bool) async throws {
    try await Self.running { (bucket: TestBucket, store: S3Store) async throws in
      bucket.setConditional(isConditional)
      #expect(try await store.supportsConditions() == isConditional)
      #expect(bucket.objects.isEmpty)
    }
  }

  @Test("a store that does not know conditions answers 501")
  func unknownConditions() async throws {
    try await Self.running { (bucket: TestBucket, store: S3Store) async throws in
      bucket.origin.always("/bucket/app/condition.check", .status(501))
      #expect(try await !store.supportsConditions())
    }
  }

  @Test("an error names the object, and what the store calls it")
  func refused() async throws {
    try await FaultOrigin.running { (origin: FaultOrigin) async throws in
      let bucket = TestBucket(on: origin)
      var environment = bucket.environment
      environment["AWS_ACCESS_KEY_ID"] = "other"
      let (access, location) = (try S3Access(environment: environment), try #require(S3Location("s3://bucket/app")))
      let transport = try CurlTransport()
      let store = try S3Store(location, access: access, transport: transport)
      let error = await #expect(throws: ObjectStoreError.self) { try await store.object("x", upTo: 10) }
      #expect(
        error?.description
          == "\(origin.url(for: "/bucket/app/x")): the object store answers 403 AccessDenied: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION"
      )
    }
  }

  @Test(
    "a key that would be the URL of another object is refused before anything is sent",
    arguments: ["../other/x", "a/../../x", "a/./x", "..", "blobs/.."])
  func escapingKeys(_ key: String) async throws {
    try await Self.running { (bucket: TestBucket, store: S3Store) async throws in
      bucket["other/x"] = [1]
      await #expect(throws: TransportError.self) { try await store.remove(key) }
      await #expect(throws: TransportError.self) { try await store.object(key, upTo: 10) }
      #expect(bucket["other/x"] == [1] && bucket.origin.requests.isEmpty)
    }
  }

  @Test("only reading is signed for hosts, and only the plain URLs of objects below the location")
  func readingTransport() async throws {
    try await FaultOrigin.running { (origin: FaultOrigin) async throws in
      let bucket = TestBucket(on: origin)
      bucket["app/x"] = [1]
      bucket["other/x"] = [1]
      let access = try S3Access(environment: bucket.environment)
      let location = try #require(S3Location("s3://bucket/app"))
      let curl = try CurlTransport()
      let transport = try access.readingTransport(curl, for: location) { $0 != "draft.js" }
      func status(_ method: HTTPRequest.Method, _ path: String) async throws -> Int {
        let url = try #require(PageURL(origin.url(for: path)))
        let head = try #require(HTTPRequest(method: method, url: url))
        return try await transport.send(TransportRequest(head)).head.status.code
      }
      #expect(try await status(.get, "/bucket/app/x") == 200)
      #expect(try await status(.head, "/bucket/app/x") == 200)
      #expect(try await status(.delete, "/bucket/app/x") == 403)
      #expect(try await status(.put, "/bucket/app/x") == 403)
      #expect(try await status(.get, "/bucket/other/x") == 403)
      bucket["app/draft.js"] = [1]
      #expect(try await status(.get, "/bucket/app/draft.js") == 403)
      bucket["app/a b"] = [1]
      #expect(try await status(.get, "/bucket/app/a%20b") == 200)
      for path in ["..%2Fother/x", "..%2fother/x", "../other/x", "%2E%2E/other/x", "x?acl", "x?", "..%5Cother"] {
        var head = HTTPRequest(
          method: .get, scheme: "http", authority: String(origin.url(for: "").dropFirst("http://".count)),
          path: "/bucket/app/\(path)")
        head.headerFields[.accept] = "*/*"
        #expect(try await transport.send(TransportRequest(head)).head.status.code == 403, "\(path)")
      }
    }
  }
}
