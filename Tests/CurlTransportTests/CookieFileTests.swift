import CurlTransport
import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

/// The file of a jar.
@Suite(.timeLimit(.minutes(2)))
struct CookieFileTests {
  private let transport: CurlTransport
  private let directory: TemporaryDirectory
  private var file: String { directory.file("cookies.txt") }

  init() throws {
    transport = try CurlTransport()
    directory = try TemporaryDirectory()
  }

  /// A jar that has received these cookies and has written them.
  private func filledJar(_ cookies: [String], from origin: FaultOrigin) async throws -> CookieJar {
    let jar = try CookieJar(file: file)
    origin.set(cookies, at: "/set")
    _ = try await transport.answer(to: origin.request("/set", cookies: jar))
    try jar.flush()
    return jar
  }

  @Test("persistent cookies are in the next jar, and session cookies are not")
  func nextJar() async throws {
    try await FaultOrigin.running { origin in
      _ = try await filledJar(
        [
          "a=1; Max-Age=1000", "b=2; Max-Age=1000; Path=/deep; HttpOnly", "c=3", "d=; Max-Age=1000; Secure",
          "e=; Max-Age=9; Path=",
        ],
        from: origin)
      let next = try CookieJar(file: file)
      #expect(next.cookieHeader(for: try origin.pageURL("/deep")) == "b=2; e=; d=; a=1")
      _ = try await transport.answer(to: origin.request("/deep", cookies: next))
      #expect(origin.cookies.last == ["b=2; e=; d=; a=1"])
    }
  }

  @Test("only its owner can read the file, and no other file remains")
  func permissions() async throws {
    try await FaultOrigin.running { origin in
      _ = try await filledJar(["a=1; Max-Age=1000", "b=secret"], from: origin)
      let attributes = try FileManager.default.attributesOfItem(atPath: file)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == [
          "cookies.txt", "cookies.txt.lock",
        ])
      let text = try String(contentsOfFile: file, encoding: .utf8)
      #expect(text.hasPrefix("# Netscape HTTP Cookie File\n"))
      #expect(!text.contains("secret"))
    }
  }

  @Test("bytes beyond ASCII are unchanged")
  func nonASCII() async throws {
    try await FaultOrigin.running { origin in
      _ = try await filledJar(["a=é; Max-Age=1000"], from: origin)
      let next = try CookieJar(file: file)
      let header = next.cookieHeader(for: try origin.pageURL("/"))
      _ = try await transport.answer(to: origin.request("/", cookies: next))
      #expect(origin.requests.last?.headers[.cookie] == "a=é")
      #expect(header?.unicodeScalars.map(\.value) == [0x61, 0x3D, 0xC3, 0xA9])
    }
  }

  @Test func anEmptiedJarHasAnEmptyFile() async throws {
    try await FaultOrigin.running { origin in
      let jar = try await filledJar(["a=1; Max-Age=1000"], from: origin)
      jar.removeAll()
      try jar.flush()
      #expect(try CookieJar(file: file).cookieHeader(for: try origin.pageURL("/")) == nil)
    }
  }

  @Test func aCookieThatWasDeletedStaysDeletedInTheNextJar() async throws {
    try await FaultOrigin.running { origin in
      let jar = try await filledJar(["a=1; Max-Age=1000", "b=1; Max-Age=1000"], from: origin)
      origin.respond("/delete") { _ in OriginResponse(headers: .settingCookies(["a=; Max-Age=0"])) }
      _ = try await transport.answer(to: origin.request("/delete", cookies: jar))
      try jar.flush()
      #expect(try CookieJar(file: file).cookieHeader(for: try origin.pageURL("/")) == "b=1")
    }
  }

  /// Lines that libcurl would execute, apply to every host, or send as more than one cookie or field.
  @Test(
    "a damaged line is ignored, and the others are read",
    arguments: [
      "", "garbage", "\u{0}\u{1}\u{FF}\t\t\t\t\t\t\t", "ALL", "RELOAD", "Set-Cookie: a=1",
      "Set-Cookie: a=1\t\t\t\t\t\t",
      "Set-Cookie:a=1\tTRUE\t/\tFALSE\t9999999999\ta\t1", "127.0.0.1\tFALSE\t/\tFALSE\tsoon\ta\t1",
      "127.0.0.1\tFALSE\t/\tFALSE\t1\ta\t1", "127.0.0.1\tFALSE\t/\tFALSE\t0\ta\t1",
      "127.0.0.1\tFALSE\t/\tFALSE\t9999999999\ta", "127.0.0.1\tFALSE\t/\tFALSE\t9999999999\t\t1",
      "127.0.0.1\tFALSE\t/\tFALSE\t9999999999\ta\t1; b=2", "127.0.0.1\tFALSE\t/\tFALSE\t9999999999\ta=b\t1",
      "127.0.0.1\tFALSE\t/\tFALSE\t9999999999\ta\t1\r\u{B}X: y", "0.0.1\tTRUE\t/\tFALSE\t9999999999\ta\t1",
      "127.0.0.1\tFALSE\t/\tFALSE\t9999999999\ta\t" + String(repeating: "x", count: 9000),
    ])
  func damagedLine(line: String) async throws {
    let sound = "127.0.0.1\tFALSE\t/\tFALSE\t9999999999\tsound\t1"
    try Data("\(line)\n\(sound)\r\n\(line)".utf8).write(to: URL(fileURLWithPath: file))
    let jar = try CookieJar(file: file)
    try await FaultOrigin.running { origin in
      for host in ["127.0.0.1", "localhost"] {
        _ = try await transport.answer(to: origin.request("/get", host: host, cookies: jar))
      }
      #expect(origin.cookies == [["sound=1"], []])
      #expect(jar.cookieHeader(for: try origin.pageURL("/get")) == "sound=1")
    }
  }

  @Test("a path that cannot be written does not end the jar, and is tried again")
  func unwritablePath() async throws {
    try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
    try await FaultOrigin.running { origin in
      let jar = try CookieJar(file: file)
      origin.set(["a=1; Max-Age=1000"], at: "/set")
      _ = try await transport.answer(to: origin.request("/set", cookies: jar))
      #expect(jar.cookieHeader(for: try origin.pageURL("/")) == "a=1")
      #expect(throws: CookieFileError.self) { try jar.flush() }
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == [
          "cookies.txt", "cookies.txt.lock",
        ])
      try FileManager.default.removeItem(atPath: file)
      try jar.flush()
      #expect(try CookieJar(file: file).cookieHeader(for: try origin.pageURL("/")) == "a=1")
    }
  }

  @Test("a pipe or a device does not block the jar", arguments: ["pipe", "/dev/zero"])
  func endlessFiles(path: String) throws {
    #expect(mkfifo(directory.file("pipe"), 0o600) == 0)
    let jar = try CookieJar(file: path.hasPrefix("/") ? path : directory.file(path))
    let url = try #require(PageURL("http://127.0.0.1/"))
    #expect(jar.cookieHeader(for: url) == nil)
  }
}
