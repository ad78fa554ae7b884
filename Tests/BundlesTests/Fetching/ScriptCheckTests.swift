import HTTPTransport
import Testing

@testable import Bundles

struct ScriptCheckTests {
  private static func fault(_ pieces: [[UInt8]]) -> ScriptCheck.Fault? {
    var check = ScriptCheck()
    for piece in pieces {
      if let fault = check.receive(piece) { return fault }
    }
    return check.finish()
  }

  @Test(arguments: ["<!DOCTYPE html>", " \n\t<html>", "\u{FEFF}<p>404", "<"])
  func whatBeginsLikeHTMLIsHTML(_ text: String) {
    #expect(Self.fault([Array(text.utf8)]) == .html)
    #expect(Self.fault(text.utf8.map { [$0] }) == .html)
  }

  @Test(arguments: ["", " \n ", "\u{FEFF}"])
  func whatHasNothingInItIsEmpty(_ text: String) {
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
    arguments: [
      [0xFF], [0x61, 0xC3], [0xE2, 0x82], [0xC3, 0x28], [0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
    ] as [[UInt8]])
  func whatIsNotUTF8IsFound(_ bytes: [UInt8]) {
    #expect(Self.fault([Array("var a;".utf8), bytes]) == .notUTF8)
    #expect(Self.fault([Array("var a;".utf8)] + bytes.map { [$0] }) == .notUTF8)
  }
}
