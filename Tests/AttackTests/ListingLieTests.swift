import CurlTransport
import Foundation
import HTTPTransport
import HTTPTypes
import PageTesting
import Publishing
import Synchronization
import TestSupport
import Testing

/// The answer of an object store in the place of the list of a publisher's objects.
struct ListingLie: Sendable {
  enum Outcome: Sendable {
    /// The words of the error, and the number of requests.
    case refused(String, Int)
    /// The names of the objects, and the number of requests.
    case listed([String], Int)
  }

  let name: String
  /// The answers in turn; the last one is repeated. `NUMBER` stands for the number of the request.
  let answers: [OriginResponse]
  let expected: Outcome
  /// Text that the last request's target has.
  var asks: String?

  private static let date = "2026-11-26T10:00:00Z"

  private static func object(_ key: String, size: String = "1", date: String = date) -> String {
    "<Contents><Key>\(key)</Key><LastModified>\(date)</LastModified><Size>\(size)</Size></Contents>"
  }

  private static func page(_ members: String, cut: String = "false") -> String {
    "<ListBucketResult><IsTruncated>\(cut)</IsTruncated>\(members)</ListBucketResult>"
  }

  private static func token(_ text: String) -> String { "<NextContinuationToken>\(text)</NextContinuationToken>" }

  private static func answered(
    _ name: String, _ expected: Outcome, _ status: Int = 200, _ bodies: [UInt8]..., fields: HTTPFields = [:],
    asks: String? = nil
  ) -> ListingLie {
    ListingLie(
      name: name, answers: bodies.map { OriginResponse(status: .init(code: status), headers: fields, body: $0) },
      expected: expected, asks: asks)
  }

  private static func text(_ name: String, _ text: String, _ words: String) -> ListingLie {
    answered(name, .refused(words, 1), 200, Array(text.utf8))
  }

  private static func lists(
    _ name: String, _ texts: String..., names: [String], requests: Int = 1, asks: String? = nil
  ) -> ListingLie {
    ListingLie(
      name: name, answers: texts.map { OriginResponse(body: $0.utf8) }, expected: .listed(names, requests), asks: asks)
  }

  private static let unreadable = "cannot be read"
  private static let unusable = "no usable Key, Size or LastModified"
  private static let good = page(object("app/a"))
  private static let entities = (1...9).map { number in
    "<!ENTITY e\(number) \"\(String(repeating: "&e\(number - 1);", count: 10))\">"
  }.joined()

  static let all: [ListingLie] = [
    text("nothing", "", unreadable), text("a page", "<html><body>no</body></html>", "not a ListBucketResult"),
    text("JSON", "{\"Contents\":[]}", unreadable),
    text("an error and a success", "<Error><Code>SlowDown</Code></Error>", "not a ListBucketResult"),
    text("a list of another kind", "<ListAllMyBucketsResult/>", "not a ListBucketResult"),
    text("a list in another name's space", "<x:ListBucketResult xmlns:x=\"y\"/>", "not a ListBucketResult"),
    text("a list that is cut off", String(good.dropLast(20)), unreadable),
    text("a list that is cut off in an object", String(good.prefix(80)), unreadable),
    lists("an element that ends twice", good + "</ListBucketResult>", names: ["a"]),
    lists("two lists", good + good, names: ["a"]), lists("text behind the list", good + "x", names: ["a"]),
    text("elements that cross", "<ListBucketResult><Contents><Key></Contents></Key></ListBucketResult>", unreadable),
    text("a null in a key", page(object("app/a\0b")), unreadable),
    text("an escaped null in a key", page(object("app/a&#0;")), unreadable),
    text("an entity that there is not", page(object("app/&x;")), unreadable),
    text(
      "entities of entities", "<!DOCTYPE l [<!ENTITY e0 \"ha\">\(entities)]>" + page(object("app/&e9;")), unreadable),
    text(
      "a file of the machine in a key",
      "<!DOCTYPE l [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>" + page(object("app/&x;")), ""),
    text(
      "a server in a key", "<!DOCTYPE l [<!ENTITY x SYSTEM \"http://127.0.0.1:1/x\">]>" + page(object("app/&x;")), ""),
    text("100,000 elements in one another", page(String(repeating: "<a>", count: 100_000)), unreadable),
    text("an object without a key", page("<Contents><Size>1</Size></Contents>"), unusable),
    text(
      "an object without a size", page("<Contents><Key>app/a</Key><LastModified>\(date)</LastModified></Contents>"),
      unusable),
    text("a size that is no number", page(object("app/a", size: "many")), unusable),
    text("a negative size", page(object("app/a", size: "-1")), unusable),
    text("a size with a plus", page(object("app/a", size: "+1")), unusable),
    text("a size beyond 64 bits", page(object("app/a", size: "99999999999999999999")), unusable),
    text("a size with spaces", page(object("app/a", size: " 1 ")), unusable),
    text("a time that is none", page(object("app/a", date: "now")), unusable),
    text("a time of a month that there is not", page(object("app/a", date: "2026-13-26T10:00:00Z")), unusable),
    text("a time in seconds", page(object("app/a", date: "1800000000")), unusable),
    text("a key of another place", page(object("other/a")), unusable),
    text("a key above the place", page(object("../app/a")), unusable),
    text("a key that begins with a space", page(object(" app/a")), unusable),
    text("a key of 1,025 bytes", page(object("app/\(String(repeating: "a", count: 1_021))")), unusable),
    text("a key of 10 MB", page(object("app/\(String(repeating: "a", count: 10 << 20))")), unreadable),
    text("a key within a key", page("<Contents><Key><Key>app/a</Key></Key><Size>1</Size></Contents>"), unusable),
    text("a page that is not the last, and names no next one", page(object("app/a"), cut: "true"), "has no token"),
    text("a token of 4,097 bytes", page(token(String(repeating: "t", count: 4_097)), cut: "true"), "4097 bytes"),
    answered(
      "bytes that are no UTF-8", .refused(unreadable, 1), 200, Array(page("X").utf8).map { $0 == 0x58 ? 0xFF : $0 }),
    answered("17 MB", .refused("more than the limit", 1), 200, [UInt8](repeating: 32, count: 17 << 20)),
    answered(
      "a list in gzip", .refused(unreadable, 1), 200, Array(good.utf8).gzipped() ?? [],
      fields: [.contentEncoding: "gzip"]),
    answered("a part of a list", .refused("the object store answers 206", 1), 206, Array(good.utf8)),
    answered("no list any more", .refused("the object store answers 404", 1), 404, []),
    answered("a success without a list", .refused("the object store answers 204", 1), 204, []),
    answered(
      "another region", .refused("the object store answers 301", 1), 301, [], fields: [.location: "http://127.0.0.1:1/"]
    ),
    answered(
      "a way to a file of the machine", .refused("the object store answers 307", 1), 307, [],
      fields: [.location: "file:///etc/passwd"]),
    answered("nothing new", .refused("the object store answers 304", 1), 304, []),
    answered(
      "a refusal with its name", .refused("answers 403 AccessDenied: check", 1), 403,
      Array("<Error><Code>AccessDenied</Code></Error>".utf8)),
    answered(
      "a refusal with a name of 101 bytes", .refused("answers 403: check", 1), 403,
      Array("<Error><Code>\(String(repeating: "a", count: 101))</Code>".utf8)),
    answered(
      "a refusal whose name writes to the terminal", .refused("answers 403: check", 1), 403,
      Array("<Error><Code>\u{1B}[2J\r\nok</Code>".utf8)),
    answered(
      "a refusal in Latin-1", .refused("answers 403", 1), 403, [0x3C, 0x43, 0x6F, 0x64, 0x65, 0x3E, 0xE9, 0x3C]),
    answered("an error again and again", .refused("the server answers 503", 4), 503, []),
    ListingLie(
      name: "an error, and then the list",
      answers: [OriginResponse(status: .serviceUnavailable), OriginResponse(body: good.utf8)],
      expected: .listed(["a"], 2)),
    text("a key in CDATA", page(object("<![CDATA[app/a&b]]>")), unusable),
    lists("a comment in a key", page(object("app/<!-- x -->a")), names: ["a"]),
    lists("an instruction in a key", page(object("app/<?x y?>a")), names: ["a"]),
    lists("a key that leads out", page(object("app/../other/a")), names: ["../other/a"]),
    lists("a key that is the place itself", page(object("app/")), names: [""]),
    lists("a key with a line's end", page(object("app/a&#10;b")), names: ["a\nb"]),
    lists(
      "a key in two elements",
      page("<Contents><Key>app/a</Key><Key>app/b</Key><LastModified>\(date)</LastModified><Size>1</Size></Contents>"),
      names: ["b"]),
    lists("an object twice", page(object("app/a") + object("app/a", size: "2")), names: ["a"]),
    lists(
      "an object on two pages", page(object("app/a") + token("t"), cut: "true"),
      page(object("app/a") + object("app/b")),
      names: ["a", "b"], requests: 2, asks: "continuation-token=t&"),
    lists("an end and a next page", page(object("app/a") + token("t")), names: ["a"]),
    lists("an end that is no word of XML", page(object("app/a") + token("t"), cut: "TRUE"), names: ["a"]),
    lists(
      "a next page in an object",
      page(
        "<Contents><Key>app/a</Key><LastModified>\(date)</LastModified><Size>1</Size>\(token("t"))<IsTruncated>true</IsTruncated></Contents>"
      ), names: ["a"]),
    lists(
      "folders among objects", page(object("app/a") + "<CommonPrefixes><Prefix>app/b/</Prefix></CommonPrefixes>"),
      names: ["a"]),
    lists(
      "a token that would be parameters", page(token("a&amp;prefix=other/+%2F \u{E9}"), cut: "true"),
      page(object("app/a")),
      names: ["a"], requests: 2, asks: "continuation-token=a%26prefix%3Dother%2F%2B%252F%20%C3%A9&"),
    lists("a byte order mark", "\u{FEFF}" + good, names: ["a"]),
    ListingLie(
      name: "an empty token", answers: [OriginResponse(body: page(token(""), cut: "true").utf8)],
      expected: .refused("the same next page twice", 2)),
    ListingLie(
      name: "the same token", answers: [OriginResponse(body: page(token("t"), cut: "true").utf8)],
      expected: .refused("the same next page twice", 2)),
    ListingLie(
      name: "two tokens in turn",
      answers: ["a", "b", "a"].map { OriginResponse(body: page(token($0), cut: "true").utf8) },
      expected: .refused("the same next page twice", 3)),
    ListingLie(
      name: "pages without news",
      answers: [OriginResponse(body: page(token("NUMBER") + object("app/a"), cut: "true").utf8)],
      expected: .refused("bring nothing new", 102)),
  ]
}

struct ListingLieTests {
  @Test("a lie of an object store about its objects ends with its reason, or harms nothing", .timeLimit(.minutes(2)))
  func lies() async throws {
    for row in ListingLie.all {
      try await FaultOrigin.running { (origin: FaultOrigin) async throws in
        let count = Mutex(0)
        origin.respond("/bucket/*") { _ in
          let number = count.withLock { count in
            count += 1
            return count
          }
          var answer = row.answers[min(number, row.answers.count) - 1]
          if answer.body.count < 1_000 { answer.body = answer.body.replacing("NUMBER".utf8, with: "\(number)".utf8) }
          return answer
        }
        let location = try #require(S3Location("s3://bucket/app"))
        let transport = try CurlTransport()
        let store = try S3Store(
          location,
          access: try S3Access(environment: [
            "AWS_ENDPOINT_URL": origin.url(for: "/"), "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
          ]), transport: transport, sleep: { _ in try Task.checkCancellation() })
        let found: Result<[String], any Error>
        do { found = .success(try await store.objects().map(\.name)) } catch { found = .failure(error) }
        let place = "\(row.name): \(found), \(origin.requests.count) requests"
        switch (row.expected, found) {
        case (.refused(let words, let requests), .failure(let error)):
          #expect((words.isEmpty || "\(error)".contains(words)) && origin.requests.count == requests, "\(place)")
          #expect(!"\(error)".contains("root:"), "\(place)")
          #expect(!"\(error)".unicodeScalars.contains { $0.value < 32 }, "\(place)")
        case (.listed(let names, let requests), .success(let listed)):
          #expect(listed == names && origin.requests.count == requests, "\(place)")
        default: Issue.record("\(place)")
        }
        if let text = row.asks { #expect(origin.requests.last?.path.contains(text) == true, "\(place)") }
      }
    }
    print("\(ListingLie.all.count) lies of object stores were tried")
  }
}
