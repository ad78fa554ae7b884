import Testing

@testable import HTTPTransport

struct TextEncodingsTests {
  @Test(
    "all bytes except unreserved ones are percent-encoded in upper case",
    arguments: [("", ""), ("a b/ü%20", "a%20b%2F%C3%BC%2520"), ("aZ09-._~", "aZ09-._~"), ("日", "%E6%97%A5")])
  func percentEncoding(_ text: String, _ encoded: String) {
    #expect(text.percentEncoded == encoded)
    #expect(String(decoding: encoded[...].percentDecodedBytes, as: UTF8.self) == text)
  }

  @Test("the characters of paths stay, and escapes stay if they are to be kept")
  func paths() {
    #expect("a/b!$&'()*+,;=:@?#[]".percentEncoded { $0.isPathCharacter } == "a/b!$&'()*+,;=:@%3F%23%5B%5D")
    let text = "%20%zz%4%e4"
    #expect(text.percentEncoded(keepingEscapes: true) { $0.isPathCharacter } == "%20%25zz%254%e4")
    #expect(text.percentEncoded { $0.isPathCharacter } == "%2520%25zz%254%25e4")
  }

  @Test("escapes stand for bytes, which need not be text, and a percent sign without digits stands for itself")
  func decoding() {
    #expect("a%FFb%zz%4"[...].percentDecodedBytes == [0x61, 0xFF, 0x62] + Array("%zz%4".utf8))
  }

  @Test("escapes of unreserved characters are undone, others are written in upper case")
  func normalising() {
    #expect("%7E%e4%41x%2f%zz".normalisingEscapes == "~%E4Ax%2F%zz")
  }

  @Test("base64 may have white space, and lack its padding")
  func base64() {
    #expect([UInt8](base64: "YW Jj\nZA") == Array("abcd".utf8))
    #expect([UInt8](base64: "é") == nil)
  }
}
