import HTTPTypes
import Testing

@testable import CurlTransport

struct ResponseHeadParserTests {
  /// Parses these lines; `nil` if the head is incomplete.
  private func head(_ lines: [String]) throws -> HTTPResponse? {
    var parser = ResponseHeadParser()
    return try Self.feed(lines, to: &parser)
  }

  /// Passes lines to a parser as libcurl does, and returns the last complete head.
  private static func feed(_ lines: [String], to parser: inout ResponseHeadParser) throws -> HTTPResponse? {
    var head: HTTPResponse?
    for line in lines {
      if let found = try parser.receive(bytes: Array((line + "\r\n").utf8)) { head = found }
    }
    return head
  }

  @Test(arguments: [
    ("HTTP/1.1 200 OK", 200), ("HTTP/1.0 404 Not Found", 404), ("HTTP/1.1 200", 200), ("HTTP/1.1 503 ", 503),
    ("HTTP/2 304 ", 304), ("HTTP/1.1 999 Beyond", 999), ("HTTP/1.1 200 a  b: c", 200),
  ])
  func aStatusLineGivesItsCode(line: String, code: Int) throws {
    #expect(try head([line, ""])?.status.code == code)
  }

  @Test(
    "other text than a status line is refused",
    arguments: [
      "", " ", "200 OK", "HTTP/1.1", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 2x0 OK", "HTTP/1.1 099 Low",
      "HTTP/1.1 +20 OK", "HTTP/1.1 -20 OK", "FTP/1.1 200 OK", "Content-Type: text/html",
    ])
  func otherStatusLines(line: String) {
    #expect(throws: ResponseHeadParser.Fault.badStatusLine) { try head([line, ""]) }
  }

  @Test func aHeadIsCompleteWithItsEmptyLine() throws {
    #expect(try head(["HTTP/1.1 200 OK", "A: b"]) == nil)
    #expect(try head(["HTTP/1.1 200 OK", "A: b", ""]) != nil)
  }

  @Test func linesMayEndWithoutCarriageReturn() throws {
    var parser = ResponseHeadParser()
    _ = try parser.receive(bytes: Array("HTTP/1.1 200 OK\n".utf8))
    _ = try parser.receive(bytes: Array("Vary: Accept\n".utf8))
    #expect(try parser.receive(bytes: [0x0A])?.headerFields == [.vary: "Accept"])
  }

  @Test(arguments: [
    ("Vary: Accept", "Accept"), ("Vary:Accept", "Accept"), ("Vary: \t Accept \t", "Accept"), ("VARY: Accept", "Accept"),
    ("Vary:", ""), ("Vary:   ", ""), ("Vary: a:b: c", "a:b: c"), ("Vary: a  b", "a  b"),
  ])
  func aValueLosesTheSpaceAroundIt(line: String, value: String) throws {
    #expect(try head(["HTTP/1.1 200 OK", line, ""])?.headerFields[values: .vary] == [value])
  }

  @Test(
    "a field with a space before its colon keeps its meaning",
    arguments: ["Cache-Control : private", "Cache-Control\t : private"])
  func spaceBeforeColon(line: String) throws {
    #expect(try head(["HTTP/1.1 200 OK", line, ""])?.headerFields == [.cacheControl: "private"])
  }

  @Test func fieldsKeepTheirOrder() throws {
    let fields = try head(["HTTP/1.1 200 OK", "Vary: a", "ETag: b", "Vary: c", ""])?.headerFields
    #expect(fields?.map(\.name) == [.vary, .eTag, .vary])
    #expect(fields?.map(\.value) == ["a", "b", "c"])
  }

  @Test func everyByteOfAValueIsOneCharacter() throws {
    let bytes = Array("Vary: ".utf8) + Array(0xA1...0xFF) + Array("\r\n".utf8)
    var parser = ResponseHeadParser()
    _ = try parser.receive(bytes: Array("HTTP/1.1 200 OK\r\n".utf8))
    _ = try parser.receive(bytes: bytes)
    let value = try parser.receive(bytes: Array("\r\n".utf8))?.headerFields[.vary]
    #expect(value?.unicodeScalars.map(\.value) == Array(0xA1...0xFF))
  }

  @Test("a folded line continues its field")
  func foldedLine() throws {
    let fields = try head(["HTTP/1.1 200 OK", "Vary: a,", "  b,", "\tc", "ETag: d", ""])?.headerFields
    #expect(fields == [.vary: "a, b, c", .eTag: "d"])
  }

  @Test("a folded line continues the last field of its name")
  func foldedLastField() throws {
    let fields = try head(["HTTP/1.1 200 OK", "Vary: a", "Vary: b", " c", ""])?.headerFields
    #expect(fields?[values: .vary] == ["a", "b c"])
  }

  @Test func aFoldedLineWithoutAFieldIsSkipped() throws {
    #expect(try head(["HTTP/1.1 200 OK", " lost", "Vary: a", ""])?.headerFields == [.vary: "a"])
  }

  @Test(
    "a field with an invalid name is skipped with its folded lines",
    arguments: ["no colon", "two words: a", ": a", "Va(ry: a", "Värý: a"])
  func invalidNames(line: String) throws {
    let fields = try head(["HTTP/1.1 200 OK", "ETag: 1", line, " folded", "Vary: b", ""])?.headerFields
    #expect(fields == [.eTag: "1", .vary: "b"])
  }

  @Test("interim heads leave no fields behind")
  func interimHeads() throws {
    let head = try head([
      "HTTP/1.1 100 Continue", "", "HTTP/1.1 103 Early Hints", "Link: </a>", "", "HTTP/1.1 200 OK", "ETag: 1", "",
    ])
    #expect(head?.status == .ok)
    #expect(head?.headerFields == [.eTag: "1"])
  }

  @Test func anInterimHeadAloneIsNotTheFinalOne() throws {
    var parser = ResponseHeadParser()
    let head = try Self.feed(["HTTP/1.1 103 Early Hints", "Link: </a>", ""], to: &parser)
    #expect(head?.status.code == 103)
    #expect(!parser.isComplete)
  }

  @Test func fieldsAfterTheHeadAreTrailers() throws {
    var parser = ResponseHeadParser()
    let head = try Self.feed(["HTTP/1.1 200 OK", "ETag: 1", "", "Vary: a,", " b", ""], to: &parser)
    #expect(head?.headerFields == [.eTag: "1"])
    #expect(parser.trailers.fields == [.vary: "a, b"])
  }

  @Test("trailers that come in one piece are told apart")
  func joinedTrailers() throws {
    var parser = ResponseHeadParser()
    _ = try Self.feed(["HTTP/1.1 200 OK", ""], to: &parser)
    _ = try parser.receive(bytes: Array("ETag: 1\r\nVary: a,\r\n b\r\nAge: 2\r\n\r\n".utf8))
    #expect(parser.trailers.fields == [.eTag: "1", .vary: "a, b", .age: "2"])
  }

  @Test func aHeadMayHaveAsManyBytesAsTheLimit() throws {
    var parser = ResponseHeadParser()
    let start = Array("HTTP/1.1 200 OK\r\n".utf8)
    _ = try parser.receive(bytes: start)
    let line = Array("A: ".utf8) + Array(repeating: 0x61, count: ResponseHeadParser.limit - start.count - 7) + [13, 10]
    _ = try parser.receive(bytes: line)
    #expect(try parser.receive(bytes: [13, 10]) != nil)
  }

  @Test func aHeadOverTheLimitIsRefused() throws {
    var parser = ResponseHeadParser()
    _ = try parser.receive(bytes: Array("HTTP/1.1 200 OK\r\n".utf8))
    #expect(throws: ResponseHeadParser.Fault.tooLong) {
      while true { _ = try parser.receive(bytes: Array("A: \(String(repeating: "b", count: 1000))\r\n".utf8)) }
    }
  }

  @Test func manyInterimHeadsCountTowardsTheLimit() throws {
    var parser = ResponseHeadParser()
    #expect(throws: ResponseHeadParser.Fault.tooLong) {
      while true { _ = try Self.feed(["HTTP/1.1 102 Processing", ""], to: &parser) }
    }
  }
}

extension ResponseHeadParser {
  fileprivate mutating func receive(bytes: [UInt8]) throws -> HTTPResponse? {
    let found: Result<HTTPResponse?, Fault> = bytes.withUnsafeBytes { buffer in
      do throws(Fault) { return .success(try receive(buffer)) } catch { return .failure(error) }
    }
    return try found.get()
  }
}
