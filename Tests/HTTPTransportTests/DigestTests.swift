import CCrypto
import HTTPTransport
import Testing

struct DigestTests {
  @Test("a known text has its known digests")
  func knownText() throws {
    let digests = try ContentDigests(of: Array("abc".utf8))
    #expect(digests.md5.hex == "900150983cd24fb0d6963f7d28e17f72")
    #expect(digests.sha256.hex == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(digests.size == 3)
  }

  @Test("MD5 is available on a system that allows only FIPS algorithms")
  func fips() throws {
    // The setting of such a system in openssl.cnf.
    #expect(EVP_set_default_properties(nil, "fips=yes") == 1)
    defer { EVP_set_default_properties(nil, "") }
    #expect(try ContentDigests(of: Array("abc".utf8)).md5.hex == "900150983cd24fb0d6963f7d28e17f72")
  }

  @Test("pieces give the same digest as the whole")
  func pieces() throws {
    let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    var digester = try ContentDigester()
    for start in stride(from: 0, to: bytes.count, by: 777) {
      digester.update(Array(bytes[start..<min(start + 777, bytes.count)]))
    }
    #expect(try digester.finish() == ContentDigests(of: bytes))
  }

  @Test func hexIsReadInEitherCaseAndWrittenInLower() {
    let text = "900150983CD24FB0d6963f7d28e17f72"
    #expect(MD5Digest(hex: text)?.hex == text.lowercased())
  }

  @Test(
    "text without exactly 32 digits is not an MD5",
    arguments: [
      "", "90", "900150983cd24fb0d6963f7d28e17f7", "900150983cd24fb0d6963f7d28e17f7g", "９00150983cd24fb0d6963f7d28e1",
    ])
  func otherText(_ text: String) {
    #expect(MD5Digest(hex: text) == nil)
  }
}
