import Foundation
import HTTPTransport
import HTTPTypes
import PageTesting
import Releases

/// The answers of a server of bundles in the place of its second release, and the outcome. A host has stored the first
/// release from it before.
struct PreloadLie: Sendable {
  enum Outcome: Sendable {
    /// The preload fails with these words, and the first release stays.
    case refused(String)
    /// The second release is switched to, whose bytes are right.
    case taken
  }

  let name: String
  /// The answers by their paths; those of a path come in turn, and the last one is repeated.
  let answers: [String: [OriginResponse]]
  let expected: Outcome
  /// A path that must have been asked for.
  var asks: String?
  /// `true` if the host asks for signatures.
  var isSigned = false

  // MARK: The site

  /// The script of a release. It is so long that a difference from another one pays.
  static func script(_ release: Int) -> [UInt8] {
    Array("var home = \(release) // \(String(repeating: "x", count: 4_000))\n".utf8)
  }

  static func digests(_ bytes: [UInt8]) -> (md5: String, sha256: String) {
    ((try? MD5Digest(of: bytes).hex) ?? "", (try? SHA256Digest(of: bytes).hex) ?? "")
  }

  static let (old, new) = (digests(script(1)), digests(script(2)))
  static let now = Int64(Date().timeIntervalSince1970)
  static let times =
    "\"signed\":\"\(SignedTime(seconds: now))\",\"expires\":\"\(SignedTime(seconds: now + 86_400))\","

  /// The manifest of a release, with these members before its own: of members with one name, the first counts.
  static func manifest(_ release: Int = 2, _ members: String = "", entry: String = "", more: String = "") -> [UInt8] {
    let digests = release == 1 ? old : new
    return Array(
      """
      {\(members)"schema":1,"release":"r\(release)","sequence":\(release),"base":"b/",\(times)"bundles":[{\(entry)\
      "name":"home","path":"home.js","size":\(script(release).count),"md5":"\(digests.md5)",\
      "sha256":"\(digests.sha256)"}\(more)]}
      """.utf8)
  }

  static func answer(
    _ bytes: some Sequence<UInt8>, _ fields: HTTPFields = [:], status: Int = 200
  ) -> OriginResponse {
    OriginResponse(status: .init(code: status), headers: fields, body: bytes)
  }

  /// The answers of a server without lies, by their paths.
  static func site(_ release: Int) throws -> [String: OriginResponse] {
    let bytes = manifest(release)
    let status = try status(release)
    return [
      "manifest.json": answer(bytes, [.eTag: "\"\(release)\""]),
      "manifest.json.sig": answer(try signatures(of: bytes, as: .manifest, by: releaseKeys)),
      "status.json": answer(status),
      "status.json.sig": answer(try signatures(of: status, as: .status, by: [onlineKey])),
      "b/home.js": answer(script(release), [.contentType: "text/javascript", .eTag: "\"\(release)\""]),
    ]
  }

  // MARK: Tables

  private static func served(
    _ name: String, _ manifest: some Sequence<UInt8>, _ expected: Outcome, _ answers: [String: [OriginResponse]] = [:],
    asks: String? = nil
  ) -> PreloadLie {
    PreloadLie(
      name: name, answers: answers.merging(["manifest.json": [answer(manifest)]]) { own, _ in own },
      expected: expected, asks: asks)
  }

  private static func member(
    _ name: String, _ members: String, _ expected: Outcome, _ answers: [String: [OriginResponse]] = [:],
    asks: String? = nil
  ) -> PreloadLie {
    served(name, manifest(2, members + ","), expected, answers, asks: asks)
  }

  private static func entry(_ name: String, _ members: String, _ expected: Outcome) -> PreloadLie {
    served(name, manifest(2, entry: members + ","), expected)
  }

  private static func path(_ name: String, _ path: String, _ words: String) -> PreloadLie {
    entry("a path \(name)", "\"path\":\"\(path)\"", .refused(words))
  }

  private static func more(_ name: String, _ members: String, _ expected: Outcome) -> PreloadLie {
    let text = "{\(members)\"path\":\"other.js\",\"md5\":\"\(new.md5)\"}"
    return served(name, manifest(2, more: ",\(text)"), expected, ["b/other.js": [answer(script(2))]])
  }

  private static func long(_ count: Int) -> String { String(repeating: "a", count: count) }

  static let members: [PreloadLie] = [
    member("a release that is a number", "\"release\":5", .refused("\"release\" must be a text")),
    member("a release without a name", "\"release\":\"\"", .refused("a text of 1 to 200 bytes")),
    member("a release's name of 201 bytes", "\"release\":\"\(long(201))\"", .refused("a text of 1 to 200 bytes")),
    member("a release's name with a line's end", "\"release\":\"a\\nb\"", .refused("without control characters")),
    member("a release that is null", "\"release\":null", .refused("\"release\" is null")),
    member("a sequence that is a text", "\"sequence\":\"2\"", .refused("\"sequence\" must be a whole number")),
    member("a negative sequence", "\"sequence\":-1", .refused("must not be negative")),
    member("a fraction of a sequence", "\"sequence\":2.5", .refused("\"sequence\"")),
    member("a sequence of 2^62 + 1", "\"sequence\":4611686018427387905", .refused("the largest one is")),
    member("a sequence beyond 64 bits", "\"sequence\":99999999999999999999", .refused("\"sequence\"")),
    member("a sequence with an exponent beyond all numbers", "\"sequence\":1e999", .refused("expected a number up to")),
    member("a sequence that is a list", "\"sequence\":[2]", .refused("\"sequence\"")),
    member("another schema", "\"schema\":2", .refused("update PageKit")),
    member("a schema that is a text", "\"schema\":\"1\"", .refused("\"schema\"")),
    member("a base that is a number", "\"base\":1", .refused("\"base\" must be a text")),
    member("a base on this machine", "\"base\":\"file:///etc/\"", .refused("no http, https or relative URL")),
    member("a base in another protocol", "\"base\":\"ftp://127.0.0.1/\"", .refused("no http, https or relative URL")),
    member("a base with a space", "\"base\":\"b c/\"", .refused("no http, https or relative URL")),
    member("a base with a password", "\"base\":\"http://a:b@127.0.0.1/\"", .refused("no http, https or relative URL")),
    member("a base with a control character", "\"base\":\"b\\u0000/\"", .refused("no http, https or relative URL")),
    member("a base elsewhere, where nothing is", "\"base\":\"none/\"", .refused("404")),
    member("blobs on this machine", "\"blobs\":\"file:///etc/\"", .refused("no http, https or relative URL")),
    member("blobs that are a number", "\"blobs\":1", .refused("\"blobs\" must be a text")),
    member("blobs that are not there", "\"blobs\":\"none/\"", .refused("404")),
    member("bundles that are an object", "\"bundles\":{}", .refused("\"bundles\" must be a list")),
    member("bundles that are null", "\"bundles\":null", .refused("\"bundles\"")),
    member("bundles that are numbers", "\"bundles\":[1,2]", .refused("bundles[0]")),
    member("bundles that are null each", "\"bundles\":[null]", .refused("bundles[0]")),
    member("bundles that are lists", "\"bundles\":[[]]", .refused("bundles[0]")),
    member("files that are an object", "\"files\":{}", .refused("\"files\" must be a list")),
    member(
      "a file with a bundle's path", "\"files\":[{\"path\":\"home.js\",\"md5\":\"\(new.md5)\"}]",
      .refused("is listed twice")),
    member(
      "a file that leads out", "\"files\":[{\"path\":\"../x.png\",\"md5\":\"\(new.md5)\"}]",
      .refused("must stay below")),
    member("an identity that is a text", "\"identity\":\"x\"", .refused("\"identity\"")),
    member("a rollout that is a number", "\"rollout\":5", .refused("\"rollout\"")),
    member("a rollout without its salt", "\"rollout\":{\"percent\":5}", .refused("\"salt\" is missing")),
    member("a rollout below 0", "\"rollout\":{\"percent\":-1,\"salt\":\"\"}", .refused("from 0 to 100")),
    member("a rollout above 100", "\"rollout\":{\"percent\":100.5,\"salt\":\"\"}", .refused("from 0 to 100")),
    member(
      "a rollout beyond all numbers", "\"rollout\":{\"percent\":1e999,\"salt\":\"\"}",
      .refused("expected a number up to")),
    member("a rollout that is NaN", "\"rollout\":{\"percent\":\"NaN\",\"salt\":\"\"}", .refused("\"rollout\"")),
    member(
      "a rollout without another manifest", "\"rollout\":{\"percent\":5,\"salt\":\"\"}",
      .refused("no \"otherwise\"")),
    member(
      "a rollout with a salt of 201 bytes", "\"rollout\":{\"percent\":100,\"salt\":\"\(long(201))\"}",
      .refused("longer than 200 bytes")),
    member("channels that are a list", "\"channels\":[]", .refused("\"channels\"")),
    member(
      "101 channels",
      "\"channels\":{\((0..<101).map { "\"c\($0)\":{\"url\":\"x\",\"sha256\":\"\(old.sha256)\"}" }.joined(separator: ","))}",
      .refused("more than 100")),
    member(
      "a channel with a control character", "\"channels\":{\"a\\u0001\":{\"url\":\"x\",\"sha256\":\"\(old.sha256)\"}}",
      .refused("without control characters")),
    member(
      "a channel to a script", "\"channels\":{\"a\":{\"url\":\"javascript:1\",\"sha256\":\"\(old.sha256)\"}}",
      .refused("relative URL of another manifest")),
    member("a runtime that is no version", "\"minimumRuntime\":\"new\"", .refused("numbers with dots")),
    member("a runtime with a negative number", "\"minimumRuntime\":\"1.-1\"", .refused("numbers with dots")),
    member("a runtime of nine numbers", "\"minimumRuntime\":\"1.2.3.4.5.6.7.8.9\"", .refused("numbers with dots")),
    member("a runtime beyond 64 bits", "\"minimumRuntime\":\"99999999999999999999\"", .refused("numbers with dots")),
    member("members that there are not", "\"__proto__\":{},\"constructor\":null,\"\":[]", .taken),
    served("no members but bundles", Array("{\"bundles\":[]}".utf8), .refused("\"schema\" is missing")),
  ]

  static let entries: [PreloadLie] = [
    entry("a name that is a number", "\"name\":5", .refused("\"name\"")),
    entry("an empty name", "\"name\":\"\"", .refused("1 to 1024 bytes")),
    entry("a name of 1,025 bytes", "\"name\":\"\(long(1_025))\"", .refused("1 to 1024 bytes")),
    entry("a name with a null", "\"name\":\"a\\u0000\"", .refused("1 to 1024 bytes")),
    entry("a name with half a character", "\"name\":\"\\ud800\"", .refused("")),
    more("two bundles of one name", "\"name\":\"home\",", .refused("its name is listed twice")),
    more("two names of the same letters in two forms", "\"name\":\"e\\u0301\",", .taken),
    more("a name that looks like another one", "\"name\":\"h\\u043eme\",", .taken),
    more("a name with nothing to be seen in it", "\"name\":\"home\\u200b\",", .taken),
    more("a name that is written from the right", "\"name\":\"\\u202eemoh\",", .taken),
    more("two bundles of one path", "\"path\":\"home.js\",\"name\":\"x\",", .refused("is listed twice")),
    path("in other letters", "HOME.js", "404"),
    path("that is empty", "", "is empty"), path("that is absolute", "/home.js", "is absolute"),
    path("that leads out", "../home.js", "must stay below"),
    path("that leads out in the middle", "a/../../x", "must stay below"),
    path("to its own folder", "./home.js", "must stay below"),
    path("that leads out at its end", "a/..", "must stay below"),
    path("that leads out in escapes", "%2e%2e/home.js", "must stay below"),
    path("that leads out in half an escape", ".%2E/home.js", "must stay below"),
    path("with an escaped slash", "a%2fb", "an escaped separator"),
    path("with an escaped backslash", "a%5Cb", "an escaped separator"),
    path("with a backslash", "a\\\\..\\\\b", "has a backslash"), path("with two slashes", "a//b", "an empty segment"),
    path("with a slash at its end", "a/", "an empty segment"),
    path("with a null", "a\\u0000b", "has control characters"),
    path("with a line's end", "a\\nb", "has control characters"),
    path("with a scheme", "file:x", "begins with a scheme"),
    path("with a drive", "C:/x", "begins with a scheme"), path("of another server", "http://127.0.0.1/x", ""),
    path("of 4,097 bytes", String(repeating: "a/", count: 2_048) + "a", "longer than 4096 bytes"),
    path("with a segment of 256 bytes", long(256), "longer than 255 bytes"),
    path("with wide dots", "\u{FF0E}\u{FF0E}/home.js", "404"), path("with a query", "home.js?x", "404"),
    path("with a fragment", "home.js#x", "404"), path("with a parameter", "..;/home.js", "404"),
    path("with an escaped null", "home.js%00", "404"), path("that is escaped twice", "%252e%252e/home.js", "404"),
    entry("a path that is a list", "\"path\":[\"home.js\"]", .refused("\"path\"")),
    entry("a path that is null", "\"path\":null", .refused("\"path\"")),
    entry("a size that is a text", "\"size\":\"5\"", .refused("\"size\"")),
    entry("a negative size", "\"size\":-1", .refused("must not be negative")),
    entry("a size of nothing", "\"size\":0", .refused("an empty script")),
    entry("a fraction of a size", "\"size\":1.5", .refused("\"size\"")),
    entry("a size beyond 64 bits", "\"size\":99999999999999999999", .refused("\"size\"")),
    entry("a size above the limit", "\"size\":67108865", .refused("more than the limit")),
    entry("a size below the content's", "\"size\":5", .refused("the server says 5 bytes")),
    entry("a size above the content's", "\"size\":9000", .refused("9000")),
    served(
      "sizes above the release's limit together",
      manifest(2, more: (0..<40).map { ",{\"path\":\"p\($0).js\",\"md5\":\"\(new.md5)\",\"size\":67108864}" }.joined()),
      .refused("more than the limit")),
    entry("an MD5 that is a number", "\"md5\":5", .refused("\"md5\"")),
    entry("an MD5 of 31 digits", "\"md5\":\"\(new.md5.dropLast())\"", .refused("\"md5\"")),
    entry("an MD5 with a letter that is no digit", "\"md5\":\"g\(new.md5.dropFirst())\"", .refused("\"md5\"")),
    entry("an MD5 in wide digits", "\"md5\":\"\(String(repeating: "\u{FF10}", count: 32))\"", .refused("\"md5\"")),
    entry("an MD5 in capitals", "\"md5\":\"\(new.md5.uppercased())\"", .taken),
    entry("an MD5 of other bytes", "\"md5\":\"\(old.md5)\"", .refused("the server says MD5")),
    entry("a SHA-256 of 63 digits", "\"sha256\":\"\(new.sha256.dropLast())\"", .refused("\"sha256\"")),
    entry("a SHA-256 of other bytes, and the right MD5", "\"sha256\":\"\(long(64))\"", .refused("SHA-256")),
    entry("a time of preloading that there is not", "\"preload\":\"now\"", .refused("none of \"launch\"")),
    entry("a time of preloading that is a number", "\"preload\":1", .refused("\"preload\"")),
    entry("responses to prefetch that are a text", "\"prefetch\":\"x\"", .refused("\"prefetch\"")),
    entry("responses to prefetch that are numbers", "\"prefetch\":[1]", .refused("\"prefetch\"")),
    entry("a blob without blobs", "\"blob\":\"x\"", .refused("has a \"blob\"")),
    entry("deltas that are a list", "\"deltas\":[]", .refused("\"deltas\"")),
    entry("deltas from what is no digest", "\"deltas\":{\"x\":5}", .refused("no SHA-256")),
    entry("deltas of negative size", "\"deltas\":{\"\(old.sha256)\":-5}", .refused("must be positive")),
    entry(
      "17 deltas",
      "\"deltas\":{\((10..<27).map { "\"\(String(repeating: "\($0)", count: 32))\":5" }.joined(separator: ","))}",
      .refused("more than 16")),
    served(
      "blobs without a digest", manifest(2, "\"blobs\":\"b/\",", more: ",{\"path\":\"x.js\",\"md5\":\"\(new.md5)\"}"),
      .refused("it has no \"sha256\"")),
    served(
      "a blob that leads out", manifest(2, "\"blobs\":\"b/\",", entry: "\"blob\":\"../x\","),
      .refused("small letters, digits and hyphens")),
    served(
      "a blob of 101 letters", manifest(2, "\"blobs\":\"b/\",", entry: "\"blob\":\"\(long(101))\","),
      .refused("1 to 100 small letters")),
    served(
      "deltas without a digest",
      Array(
        """
        {"schema":1,"release":"r2","bundles":[{"path":"home.js","md5":"\(new.md5)","deltas":{"\(old.sha256)":5}}]}
        """.utf8), .refused("could not be checked")),
  ]

  private static func form(_ name: String, _ text: String, _ words: String) -> PreloadLie {
    served(name, Array(text.utf8), .refused(words))
  }

  static let forms: [PreloadLie] = [
    form("nothing for a manifest", "", "it is empty"), form("spaces for a manifest", " \n\t", "it is empty"),
    form("a page for a manifest", "<!DOCTYPE html><html></html>", "looks like HTML"),
    form("a text for a manifest", "not found", "it begins with"),
    form("a number for a manifest", "5", "it begins with"),
    form("an empty object for a manifest", "{}", "is not a manifest"),
    form("an empty list for a manifest", "[]", "it lists nothing"),
    form("a list of lists for a manifest", "[[]]", "entry[0]"),
    form("half a manifest", String(decoding: manifest().dropLast(20), as: UTF8.self), "is not JSON"),
    form("two manifests", String(decoding: manifest() + manifest(), as: UTF8.self), "is not JSON"),
    form("a comment in a manifest", "/* x */" + String(decoding: manifest(), as: UTF8.self), "is not JSON"),
    form("NaN in a manifest", "{\"bundles\":NaN}", "is not JSON"),
    form("names without quotes", "{bundles:[]}", "is not JSON"),
    form("an escape that there is not", "{\"bundles\":\"\\x\"}", "is not JSON"),
    form("a line's end in a text", "{\"bundles\":\"\n\"}", "is not JSON"),
    form("100,000 lists in one another", "{\"bundles\":\(String(repeating: "[", count: 100_000))", "is not JSON"),
    form(
      "400 objects in one another",
      String(repeating: "{\"bundles\":", count: 400) + "1" + String(repeating: "}", count: 400), ""),
    served("a null for a manifest", [0], .refused("it begins with")),
    served("a manifest in UTF-16", [0xFF, 0xFE] + manifest().flatMap { [$0, 0] }, .refused("not valid UTF-8")),
    served(
      "a manifest in Latin-1", manifest(2, "\"x\":\"\u{1}\",").map { $0 == 1 ? 0xE9 : $0 }, .refused("not valid UTF-8")),
    served("a byte order mark before a manifest", [0xEF, 0xBB, 0xBF] + manifest(), .taken),
    served("a null behind a manifest", manifest() + [0], .refused("is not JSON")),
    form("a manifest of Eros whose list is none", "{\"filesMd5\":{}}", "\"filesMd5\" must be a list"),
    form(
      "a manifest of Eros that leads out", "{\"filesMd5\":[{\"page\":\"/../x.js\",\"md5\":\"\(new.md5)\"}]}",
      "must stay below"),
    form("a manifest of Eros without digests", "{\"filesMd5\":[{\"page\":\"/home.js\"}]}", "\"md5\" is missing"),
    form("a manifest of weexbox that leads out", "[{\"path\":\"../x.js\",\"md5\":\"\(new.md5)\"}]", "must stay below"),
    form("a manifest of weexbox without paths", "[{\"md5\":\"\(new.md5)\"}]", "\"path\" is missing"),
  ]

  /// - Parameter sha256: the digest that the reference gives; `nil` for the right one.
  private static func other(
    _ name: String, _ url: String, _ bytes: [UInt8], _ expected: Outcome, sha256: String? = nil, asks: String? = nil
  ) -> PreloadLie {
    let digest = sha256 ?? digests(bytes).sha256
    return member(
      name, "\"rollout\":{\"percent\":0,\"salt\":\"\"},\"otherwise\":{\"url\":\"\(url)\",\"sha256\":\"\(digest)\"}",
      expected,
      ["other.json": [answer(bytes)]], asks: asks)
  }

  private static func pointer(_ members: String = "", url: String = "2.json", of bytes: [UInt8]? = nil) -> [UInt8] {
    let digest = digests(bytes ?? manifest()).sha256
    return Array(
      """
      {"current":{\(members)"release":"r2","sequence":2,"manifest":{"url":"\(url)","sha256":"\(digest)"},\
      "publishedAt":"2026-11-27T00:00:00Z"}}
      """.utf8)
  }

  private static func points(
    _ name: String, _ pointer: [UInt8], _ expected: Outcome, at bytes: [UInt8]? = nil
  ) -> PreloadLie {
    served(name, pointer, expected, ["2.json": [answer(bytes ?? manifest())]])
  }

  static let others: [PreloadLie] = [
    other("another manifest that is not there", "none.json", manifest(), .refused("which the server does not have")),
    other(
      "another manifest with other bytes", "other.json", manifest(),
      .refused("publish the manifest that names it last"), sha256: old.sha256),
    other("another manifest on this machine", "file:///etc/passwd", manifest(), .refused("a file of this machine")),
    other(
      "another manifest that is this one", "manifest.json", manifest(),
      .refused("publish the manifest that names it last")),
    other("another manifest that is a page", "other.json", Array("<html>".utf8), .refused("looks like HTML")),
    other("another manifest that is a pointer", "other.json", pointer(), .refused("is not a manifest")),
    other(
      "another manifest with a fault", "other.json", manifest(2, "\"sequence\":-1,"), .refused("must not be negative")),
    other(
      "another manifest that names another one in turn", "other.json",
      manifest(
        2,
        "\"rollout\":{\"percent\":0,\"salt\":\"\"},\"otherwise\":{\"url\":\"third.json\",\"sha256\":\"\(old.sha256)\"},"
      ),
      .taken, asks: "other.json"),
    other("another manifest without a URL", "", manifest(), .refused("relative URL of another manifest")),
    other(
      "another manifest at a URL of 4,097 bytes", long(4_097), manifest(), .refused("relative URL of another manifest")),
    other(
      "another manifest with a line's end in its URL", "a\\nb", manifest(), .refused("relative URL of another manifest")
    ),
    member("another manifest without a digest", "\"otherwise\":{\"url\":\"other.json\"}", .refused("\"sha256\"")),
    member("another manifest that is a text", "\"otherwise\":\"other.json\"", .refused("\"otherwise\"")),

    points("a pointer in order", pointer(), .taken),
    points("a pointer to itself", pointer(url: "manifest.json"), .refused("publish the manifest that names it last")),
    points(
      "a pointer to a pointer", pointer(of: pointer(url: "3.json")), .refused("is not a manifest"),
      at: pointer(url: "3.json")),
    points("a pointer to nothing", pointer(url: "none.json"), .refused("which the server does not have")),
    points(
      "a pointer to a file of this machine", pointer(url: "file:///etc/passwd"), .refused("a file of this machine")),
    points("a pointer without a URL", pointer(url: ""), .refused("relative URL of a manifest")),
    points("a pointer to other bytes", pointer(of: manifest(1)), .refused("publish the manifest that names it last")),
    points("a pointer whose release is a number", pointer("\"release\":2,"), .refused("\"release\"")),
    points("a pointer whose sequence is negative", pointer("\"sequence\":-2,"), .refused("it must be from 0")),
    points("a pointer whose manifest is a text", pointer("\"manifest\":\"2.json\","), .refused("\"manifest\"")),
    points(
      "a pointer of another schema", Array("{\"schema\":2,".utf8) + pointer().dropFirst(), .refused("update PageKit")),
    points(
      "a pointer with negative collections", Array("{\"collections\":-1,".utf8) + pointer().dropFirst(),
      .refused("\"collections\"")),
    points(
      "a pointer with 101 former releases",
      Array(
        "{\"former\":[\((0..<101).map { _ in String(decoding: pointer().dropFirst(11).dropLast(), as: UTF8.self) }.joined(separator: ","))],"
          .utf8)
        + pointer().dropFirst(), .refused("more than 100")),
    points(
      "a pointer of 300 KB", Array("{\"x\":\"\(long(300_000))\",".utf8) + pointer().dropFirst(),
      .refused("is not a manifest")),
    points("a pointer that is current in a list", Array("{\"current\":[]}".utf8), .refused("is not a manifest")),
  ]

  /// A lie in the place of the manifest.
  private static func instead(_ name: String, _ answers: OriginResponse..., expecting outcome: Outcome) -> PreloadLie {
    PreloadLie(name: name, answers: ["manifest.json": answers], expected: outcome)
  }

  private static func bundle(_ name: String, _ answers: OriginResponse..., expecting outcome: Outcome) -> PreloadLie {
    PreloadLie(name: name, answers: ["b/home.js": answers], expected: outcome)
  }

  private static let zip: HTTPFields = [.contentEncoding: "gzip"]
  private static func packed(_ bytes: [UInt8]) -> [UInt8] { bytes.gzipped() ?? [] }

  static let answersOfServers: [PreloadLie] = [
    instead("a refusal for the manifest", answer([], status: 403), expecting: .refused("the server answers 403")),
    instead("no manifest any more", answer([], status: 410), expecting: .refused("410")),
    instead("an error for the manifest", answer([], status: 500), expecting: .refused("the server answers 500")),
    instead("nothing, and a success", answer([], status: 204), expecting: .refused("the server answers 204")),
    instead(
      "a part of the manifest", answer(manifest().prefix(9), [.contentRange: "bytes 0-8/999"], status: 206),
      expecting: .refused("the server answers 206")),
    instead(
      "a way to a file of this machine", answer([], [.location: "file:///etc/passwd"], status: 302),
      expecting: .refused("no http or https URL")),
    instead(
      "a way in a circle", answer([], [.location: "manifest.json"], status: 302), expecting: .refused("in a circle")),
    instead("a way to nowhere", answer([], status: 302), expecting: .refused("no Location")),
    instead(
      "a manifest that is said to be gzip", answer(manifest(), zip), expecting: .refused("the gzip data is damaged")),
    instead(
      "half a manifest in gzip", answer(packed(manifest()).dropLast(9), zip), expecting: .refused("ends too early")),
    instead(
      "a manifest in an encoding that there is not", answer(manifest(), [.contentEncoding: "zip"]),
      expecting: .refused("which was not asked for")),
    instead(
      "70 MB of a manifest in 70 KB", answer(packed([UInt8](repeating: 32, count: 70 << 20)), zip),
      expecting: .refused("more than the limit")),
    instead(
      "a manifest that is not modified, with other bytes", answer(manifest(), [.eTag: "\"1\""]), expecting: .taken),
    PreloadLie(
      name: "a manifest that changes while its bundles are fetched",
      answers: ["manifest.json": [answer(manifest()), answer(manifest(1))], "b/home.js": [answer(script(1))]],
      expected: .refused("the server says")),

    bundle("a page for a bundle", answer("<html>sorry</html>".utf8), expecting: .refused("HTML")),
    bundle("a page behind a byte order mark and spaces", answer("\u{FEFF} \n<html>".utf8), expecting: .refused("HTML")),
    bundle("nothing for a bundle", answer([]), expecting: .refused("the answer is empty")),
    bundle("spaces for a bundle", answer("  \n".utf8), expecting: .refused("the answer is empty")),
    bundle("a bundle that is no text", answer([0xC3, 0x28]), expecting: .refused("not UTF-8")),
    bundle(
      "a bundle that ends in half a character", answer(script(2).dropLast() + [0xE2, 0x82]), expecting: .refused("")),
    bundle("a bundle with a byte more", answer(script(2) + [32]), expecting: .refused("the download has 4018")),
    bundle("a bundle with a byte less", answer(script(2).dropLast()), expecting: .refused("the download has")),
    bundle("a bundle with another byte", answer(script(2).dropLast() + [32]), expecting: .refused("MD5")),
    bundle("the bundle of the former release", answer(script(1)), expecting: .refused("MD5")),
    bundle("no bundle", answer([], status: 404), expecting: .refused("404")),
    bundle("a bundle that nobody may see", answer([], status: 401), expecting: .refused("401")),
    bundle("an error for a bundle", answer([], status: 503), expecting: .refused("503")),
    bundle("a success without a bundle", answer([], status: 204), expecting: .refused("204")),
    bundle("a status beyond all statuses", answer(script(2), status: 999), expecting: .refused("999")),
    bundle("a bundle that was not modified", answer([], [.eTag: "\"2\""], status: 304), expecting: .refused("304")),
    bundle(
      "a part of a bundle", answer(script(2).prefix(9), [.contentRange: "bytes 0-8/4016"], status: 206),
      expecting: .refused("206")),
    bundle("no part of a bundle", answer([], [.contentRange: "bytes */9"], status: 416), expecting: .refused("416")),
    bundle(
      "a bundle on this machine", answer([], [.location: "file:///etc/passwd"], status: 302),
      expecting: .refused("no http or https URL")),
    bundle(
      "a bundle further and further", answer([], [.location: "x/home.js"], status: 302), expecting: .refused("404")),
    bundle("a bundle that is said to be gzip", answer(script(2), zip), expecting: .refused("the gzip data is damaged")),
    bundle("half a bundle in gzip", answer(packed(script(2)).dropLast(9), zip), expecting: .refused("ends too early")),
    bundle(
      "a bundle in gzip with letters behind it", answer(packed(script(2)) + [65, 66, 67], zip),
      expecting: .refused("gzip")),
    bundle(
      "10 MB of a bundle in 10 KB", answer(packed([UInt8](repeating: 65, count: 10 << 20)), zip),
      expecting: .refused("")),
    bundle(
      "a bundle in an encoding that there is not", answer(script(2), [.contentEncoding: "zip"]),
      expecting: .refused("not asked for")),
    bundle(
      "a bundle in four encodings", answer(script(2), [.contentEncoding: "gzip, gzip, gzip, gzip"]),
      expecting: .refused("not asked for")),
    bundle(
      "a bundle in an encoding whose dictionary nobody has", answer(script(2), [.contentEncoding: "dcb"]),
      expecting: .refused("not asked for")),
    bundle(
      "a difference of other bytes", answer(difference(old.sha256), [.contentEncoding: "dcz"]), answer(script(2)),
      expecting: .taken),
    bundle(
      "a difference from other bytes", answer(difference(new.sha256), [.contentEncoding: "dcz"]), answer(script(2)),
      expecting: .taken),
    bundle(
      "a difference, again and again", answer(difference(old.sha256), [.contentEncoding: "dcz"]),
      expecting: .refused("")),
    bundle("a wrong bundle, and then the right one", answer(script(1)), answer(script(2)), expecting: .taken),
    bundle("a page, and then the right bundle", answer("<html>".utf8), answer(script(2)), expecting: .refused("HTML")),
    bundle(
      "a part, and then the right bundle", answer([65], [.contentRange: "bytes 0-0/9"], status: 206), answer(script(2)),
      expecting: .taken),
    bundle(
      "a bundle with another digest in its head",
      answer(script(2), [.contentType: "text/html", .eTag: "\"\(old.md5)\""]),
      expecting: .taken),
  ]

  /// A difference from stored bytes (RFC 9842), whose content has `size` bytes of one letter.
  private static func difference(_ base: String, size: Int = 4_016) -> [UInt8] {
    let digest = stride(from: 0, to: 64, by: 2).compactMap { index -> UInt8? in
      UInt8(base.dropFirst(index).prefix(2), radix: 16)
    }
    var bytes: [UInt8] = [0x5E, 0x2A, 0x4D, 0x18, 0x20, 0, 0, 0] + digest
    // RFC 8878: the magic number, no content size, a window of 128 KiB, and blocks of one repeated byte.
    bytes += [0x28, 0xB5, 0x2F, 0xFD, 0, 0x38]
    var left = size
    repeat {
      let count = min(left, 128 << 10)
      left -= count
      let header = UInt32(count) << 3 | 1 << 1 | (left == 0 ? 1 : 0)
      bytes += [UInt8(header & 0xFF), UInt8(header >> 8 & 0xFF), UInt8(header >> 16), 65]
    } while left > 0
    return bytes
  }

  private static let deltaPath = "b/deltas/\(new.sha256).\(old.sha256).dcz"

  private static func delta(_ name: String, _ answers: OriginResponse..., size: Int = 60) -> PreloadLie {
    served(
      name, manifest(2, entry: "\"deltas\":{\"\(old.sha256)\":\(size)},"), .taken, [deltaPath: answers], asks: deltaPath
    )
  }

  static let deltas: [PreloadLie] = [
    delta("a delta that is not there", answer([], status: 404)),
    delta("a delta that is a page", answer("<html>".utf8)),
    delta("a delta of nothing", answer([])),
    delta("a delta that is no Zstandard", answer([UInt8](repeating: 65, count: 60))),
    delta("a delta of other bytes", answer(difference(old.sha256))),
    delta("a delta from other bytes", answer(difference(new.sha256))),
    delta("a delta of 100 MB in 4 KB", answer(difference(old.sha256, size: 100 << 20).prefix(3_900))),
    delta("a delta larger than its content", answer([UInt8](repeating: 65, count: 5_000))),
    delta("a delta that is cut", answer(difference(old.sha256).dropLast(2))),
    delta("a delta in gzip that is none", answer(difference(old.sha256), zip)),
    delta("a delta elsewhere", answer([], [.location: "http://127.0.0.1:1/x"], status: 302)),
    delta("a part of a delta", answer([65], [.contentRange: "bytes 0-0/60"], status: 206)),
    delta("a delta that was not modified", answer([], status: 304)),
    delta("a delta of the largest size", answer(difference(old.sha256)), size: .max),
  ]
}
