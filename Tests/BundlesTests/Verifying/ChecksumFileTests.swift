import Testing

@testable import Bundles
@testable import HTTPTransport

struct ChecksumFileTests {
  @Test(
    "the formats of md5sum and BSD's md5 are read",
    arguments: [
      "900150983cd24fb0d6963f7d28e17f72", "900150983cd24fb0d6963f7d28e17f72  home.js\n",
      "900150983CD24FB0D6963F7D28E17F72 *home.js\r\n", "MD5 (home.js) = 900150983cd24fb0d6963f7d28e17f72\n",
      "\\900150983cd24fb0d6963f7d28e17f72  a\\nb",
    ])
  func formats(_ text: String) {
    #expect(OriginClient.md5(inFile: text)?.hex == "900150983cd24fb0d6963f7d28e17f72")
  }

  @Test("other text is not a checksum", arguments: ["", "\n", "<html>", "d41d8cd98f00b204e9800998ecf8427", "home.js"])
  func otherText(_ text: String) {
    #expect(OriginClient.md5(inFile: text) == nil)
  }

  @Test("the query follows the MD5 file's name")
  func query() throws {
    let url = try #require(PageURL("http://h/home.js?v=2"))
    #expect(OriginClient.md5FileURL(for: url)?.text == "http://h/home.js.md5?v=2")
  }
}
