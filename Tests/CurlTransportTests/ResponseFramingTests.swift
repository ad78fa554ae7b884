import HTTPTypes
import Testing

@testable import CurlTransport

struct ResponseFramingTests {
  private func head(_ lines: [String], version: String = "1.1") throws -> HTTPResponse? {
    var parser = ResponseHeadParser()
    var head: HTTPResponse?
    for line in ["HTTP/\(version) 200 OK"] + lines + [""] {
      let bytes = Array((line + "\r\n").utf8)
      let found: Result<HTTPResponse?, ResponseHeadParser.Fault> = bytes.withUnsafeBytes { buffer in
        do throws(ResponseHeadParser.Fault) { return .success(try parser.receive(buffer)) } catch {
          return .failure(error)
        }
      }
      head = try found.get() ?? head
    }
    return head
  }

  @Test(
    "an unambiguous length becomes one number",
    arguments: [
      (["Content-Length: 3"], "3"), (["Content-Length: 3", "Content-Length: 3"], "3"), (["Content-Length: 5, 5"], "5"),
      (["Content-Length: 005,5"], "5"), (["Content-Length: 9223372036854775807"], "9223372036854775807"),
      (["Transfer-Encoding: chunked"], nil), (["Transfer-Encoding: Chunked"], nil),
      (["Transfer-Encoding: identity"], nil), (["Transfer-Encoding: other"], nil), ([], nil),
    ])
  func lengths(lines: [String], length: String?) throws {
    #expect(try head(lines)?.headerFields[values: .contentLength] == [length].compactMap(\.self))
  }

  @Test(
    "an ambiguous length is refused",
    arguments: [
      (["Content-Length: 3", "Content-Length: 5"], ResponseHeadParser.Fault.twoLengths),
      (["Content-Length: 5, 6"], .twoLengths), (["Content-Length: +5"], .noNumber), (["Content-Length: 5x"], .noNumber),
      (["Content-Length: 0x5"], .noNumber), (["Content-Length: 5,"], .noNumber), (["Content-Length:"], .noNumber),
      (["Content-Length: -5"], .noNumber), (["Content-Length: 9223372036854775808"], .noNumber),
      (["Content-Length: 5", "Transfer-Encoding: chunked"], .lengthAndCoding),
      (["Transfer-Encoding: xchunked"], .unclearCoding), (["Transfer-Encoding: gzip, chunked"], .unclearCoding),
      (["Transfer-Encoding: gzip"], .unclearCoding), (["Transfer-Encoding: other, X-Deflate"], .unclearCoding),
      (["Transfer-Encoding: chunked, chunked"], .unclearCoding), (["Transfer-Encoding:"], .unclearCoding),
      (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], .unclearCoding),
      (["Content-Length : 5"], .unclear), (["Transfer-Encoding : chunked"], .unclear),
      (["Content-Length:", " 5"], .unclear), (["Transfer-Encoding:", "\tchunked"], .unclear),
      (["Transfer-Encoding: \u{B}chunked"], .unclear), (["Transfer-Encoding: chun\u{212A}ed"], .unclear),
      (["Content-Length: \u{B}5"], .unclear),
    ])
  func ambiguousLengths(lines: [String], fault: ResponseHeadParser.Fault) {
    #expect(throws: fault) { try head(lines) }
  }

  @Test("HTTP/1.0 has no transfer coding")
  func oldVersion() throws {
    #expect(throws: ResponseHeadParser.Fault.codingInOldVersion) {
      try head(["Transfer-Encoding: chunked"], version: "1.0")
    }
    #expect(try head(["Content-Length: 5"], version: "1.0") != nil)
  }
}
