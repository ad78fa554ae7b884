import HTTPTransport
import Testing

@testable import Releases

struct ScriptCheckTests {
  private static func fault(_ pieces: [[UInt8]]) -> ScriptCheck.Fault? {
    var check = ScriptCheck()
    for piece in pieces {
      if let fault = check.receive(piece) { return fault }
    }
    return check.finish()
  }

  @Test("text that begins with a tag is HTML", arguments: ["<!DOCTYPE html>", " \n\t<html>", "\u{FEFF}<p>404", "<"])
  func html(_ text: String) {
    #expect(Self.fault([Array(text.utf8)]) == .html)
    #expect(Self.fault(text.utf8.map { [$0] }) == .html)
  }

  @Test("text without content is empty", arguments: ["", " \n ", "\u{FEFF}"])
  func empty(_ text: String) {
    #expect(Self.fault([Array(text.utf8)]) == .empty)
  }

  @Test func charactersMayBeSplitBetweenChunks() {
    let text = Array("// é € 𝄞 ok".utf8)
    for split in 0...text.count {
      #expect(Self.fault([Array(text[..<split]), Array(text[split...])]) == nil)
    }
    #expect(Self.fault(text.map { [$0] }) == nil)
  }

  @Test(
    "bytes that are not UTF-8 are detected",
    arguments: [
      [0xFF], [0x61, 0xC3], [0xE2, 0x82], [0xC3, 0x28], [0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
    ] as [[UInt8]])
  func notUTF8(_ bytes: [UInt8]) {
    #expect(Self.fault([Array("var a;".utf8), bytes]) == .notUTF8)
    #expect(Self.fault([Array("var a;".utf8)] + bytes.map { [$0] }) == .notUTF8)
  }
}
