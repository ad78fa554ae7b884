import Foundation
import Testing

@testable import HTTPTransport

struct ErrorSentenceTests {
  private struct Own: Error, CustomStringConvertible {
    let description = "the server says MD5 5d41"
  }

  private func error(_ work: () throws -> Void) throws -> any Error {
    do {
      try work()
    } catch {
      return error
    }
    throw Own()
  }

  @Test("an error of Foundation is its file and the system's reason, without domains, codes and dictionaries")
  func foundation() throws {
    let cases: [(String, () throws -> Void)] = [
      ("/dev/full: No space left on device", { try Data([1]).write(to: URL(fileURLWithPath: "/dev/full")) }),
      ("/proc/a: No such file or directory", { try Data([1]).write(to: URL(fileURLWithPath: "/proc/a")) }),
      ("/no/file: No such file or directory", { _ = try Data(contentsOf: URL(fileURLWithPath: "/no/file")) }),
      ("/no/file: No such file or directory", { _ = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/no/file")) }),
      ("No space left on device", { try FileHandle(forWritingAtPath: "/dev/full")?.write(contentsOf: Data([1])) }),
      ("No space left on device", { throw POSIXError(.ENOSPC) }),
    ]
    for (text, work) in cases {
      let error = try error(work)
      #expect(error.sentence == text, "\(error)")
      #expect(error.plainReason == text.split(separator: ": ").last.map(String.init))
    }
    for error in [CocoaError(.fileWriteNoPermission), URLError(.badURL), NSError(domain: "x", code: 1)] as [any Error] {
      #expect(!error.sentence.contains("UserInfo") && !error.sentence.contains("Code="), "\(error.sentence)")
    }
  }

  @Test("other errors describe themselves")
  func others() throws {
    #expect(Own().sentence == "the server says MD5 5d41")
    #expect(CancellationError().sentence == "it was cancelled")
    let decoding = try error { _ = try JSONValue(reading: Array(#"{"a": 1}"#.utf8)).decoded(as: [String: String].self) }
    #expect(decoding.sentence == "a: expected a text, found a number")
  }

  @Test("a foreign text has no control characters, and is cut")
  func foreignText() {
    let text = "a\tb\n\u{1B}[31m\u{9B}é"
    #expect(text.quotableStart == "a\u{FFFD}b\u{FFFD}\u{FFFD}[31m\u{FFFD}é")
    #expect(text.unicodeScalars.text(replacingControls: { $0 == "\t" ? " " : nil }) == "a b[31mé")
    #expect(String(repeating: "x", count: 80).quotableStart == String(repeating: "x", count: 80))
    #expect(String(repeating: "x", count: 81).quotableStart == String(repeating: "x", count: 80) + "…")
  }
}
