import HTTPCaching
import HTTPTypes
import Testing

@testable import RenderHost

struct AcceptedCodingsTests {
  static let cases: [(String?, [ContentCoding])] = [
    (nil, [.identity]),
    ("", [.identity]),
    ("gzip", [.gzip, .identity]),
    ("x-gzip", [.gzip, .identity]),
    ("gzip, br, zstd", [.brotli, .zstd, .gzip, .identity]),
    ("GZIP;Q=1.0, br;q=0.5", [.gzip, .brotli, .identity]),
    ("br;q=0.001, zstd;q=0.002, gzip;q=0.003", [.gzip, .zstd, .brotli, .identity]),
    ("*", [.brotli, .zstd, .gzip, .identity]),
    ("*;q=0.1, gzip", [.gzip, .brotli, .zstd, .identity]),
    ("gzip;q=0", [.identity]),
    ("gzip, identity;q=0", [.gzip]),
    ("identity;q=0", []),
    ("*;q=0", []),
    ("br, *;q=0", [.brotli]),
    ("identity;q=1, br;q=0.5", [.identity, .brotli]),
    ("identity, gzip", [.gzip, .identity]),
    ("deflate", [.identity]),
    ("gzip;q=2", [.identity]),
    ("gzip;q=x, br", [.brotli, .identity]),
    (" gzip ; q=0.5 ,, br ; q=0.6 ", [.brotli, .gzip, .identity]),
  ]

  @Test("encodings are ordered by their weights", arguments: cases)
  func weights(field: String?, expected: [ContentCoding]) {
    var fields = HTTPFields()
    fields[.acceptEncoding] = field
    #expect(AcceptedCodings(fields).ordered() == expected)
  }

  @Test("several fields are one list")
  func severalFields() throws {
    var fields = HTTPFields()
    fields.append(HTTPField(name: .acceptEncoding, value: "gzip"))
    fields.append(HTTPField(name: .acceptEncoding, value: "br;q=0.5"))
    #expect(AcceptedCodings(fields).ordered() == [.gzip, .brotli, .identity])
  }
}
