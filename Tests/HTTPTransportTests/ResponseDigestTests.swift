import HTTPTypes
import Testing

@testable import HTTPTransport

struct ResponseDigestTests {
  private static let md5 = "900150983cd24fb0d6963f7d28e17f72"

  private static func fields(_ name: String, _ value: String) throws -> HTTPFields {
    [try #require(HTTPField.Name(name)): value]
  }

  @Test(
    "Content-MD5 and Repr-Digest promise a digest",
    arguments: [
      ("Content-MD5", "kAFQmDzST7DWlj99KOF/cg=="), ("Repr-Digest", "md5=:kAFQmDzST7DWlj99KOF/cg==:"),
      ("Repr-Digest", "unixsum=30637, md5=:kAFQmDzST7DWlj99KOF/cg==:;x=1"),
    ])
  func promisedDigests(_ name: String, _ value: String) throws {
    let found = ResponseDigest(try Self.fields(name, value), isEncoded: false)
    #expect(found?.expected?.md5?.hex == Self.md5)
  }

  @Test("an ETag that looks like an MD5 is a hint")
  func hintedDigest() throws {
    let md5 = try #require(MD5Digest(hex: Self.md5))
    for etag in ["\"\(Self.md5)\"", "W/\"\(Self.md5.uppercased())\""] {
      #expect(ResponseDigest(try Self.fields("ETag", etag), isEncoded: false) == .hinted(md5))
    }
  }

  @Test(
    "other fields and values give no digest",
    arguments: [
      ("Content-MD5", "nonsense"), ("Content-MD5", "AAAA"), ("Repr-Digest", "md5=5"), ("Repr-Digest", ":::"),
      ("ETag", "\"v1\""), ("ETag", "900150983cd24fb0d6963f7d28e17f72"),
    ])
  func otherFields(_ name: String, _ value: String) throws {
    #expect(ResponseDigest(try Self.fields(name, value), isEncoded: false) == nil)
  }

  @Test("the digest of encoded bytes is not the content's")
  func encodedBytes() throws {
    #expect(ResponseDigest(try Self.fields("Content-MD5", "kAFQmDzST7DWlj99KOF/cg=="), isEncoded: true) == nil)
  }
}
