import HTTPTypes
import Testing

@testable import HTTPTransport

struct AnswerDigestTests {
  private static let md5 = "900150983cd24fb0d6963f7d28e17f72"

  private static func fields(_ name: String, _ value: String) throws -> HTTPFields {
    [try #require(HTTPField.Name(name)): value]
  }

  @Test(arguments: [
    ("Content-MD5", "kAFQmDzST7DWlj99KOF/cg=="), ("Repr-Digest", "md5=:kAFQmDzST7DWlj99KOF/cg==:"),
    ("Repr-Digest", "unixsum=30637, md5=:kAFQmDzST7DWlj99KOF/cg==:;x=1"),
  ])
  func digestFieldsPromise(_ name: String, _ value: String) throws {
    let found = AnswerDigest(try Self.fields(name, value), isEncoded: false)
    #expect(found?.expected?.md5?.hex == Self.md5)
  }

  @Test func anETagOnlyHints() throws {
    let md5 = try #require(MD5Digest(hex: Self.md5))
    for etag in ["\"\(Self.md5)\"", "W/\"\(Self.md5.uppercased())\""] {
      #expect(AnswerDigest(try Self.fields("ETag", etag), isEncoded: false) == .hinted(md5))
    }
  }

  @Test(arguments: [
    ("Content-MD5", "nonsense"), ("Content-MD5", "AAAA"), ("Repr-Digest", "md5=5"), ("Repr-Digest", ":::"),
    ("ETag", "\"v1\""), ("ETag", "900150983cd24fb0d6963f7d28e17f72"),
  ])
  func anythingElseTellsNothing(_ name: String, _ value: String) throws {
    #expect(AnswerDigest(try Self.fields(name, value), isEncoded: false) == nil)
  }

  @Test func theDigestOfEncodedBytesIsNotTheContents() throws {
    #expect(AnswerDigest(try Self.fields("Content-MD5", "kAFQmDzST7DWlj99KOF/cg=="), isEncoded: true) == nil)
  }
}
