import Foundation
import Testing

@testable import HTTPTransport

struct JSONWriterTests {
  /// A value made of random numbers.
  private static func value(_ random: inout some RandomNumberGenerator, depth: Int = 0) -> JSONValue {
    switch Int.random(in: 0..<(depth > 4 ? 6 : 9), using: &random) {
    case 0: .null
    case 1: .bool(.random(using: &random))
    case 2: .integer(.random(in: .min ... .max, using: &random))
    case 3: .number(Double(bitPattern: .random(in: 0...UInt64.max, using: &random)).finite)
    case 4: .number(Double(Int.random(in: -1_000...1_000, using: &random)) / 8)
    case 5: .string(string(&random))
    case 6, 7:
      .array((0..<Int.random(in: 0...4, using: &random)).map { _ in value(&random, depth: depth + 1) })
    default:
      .object(
        Dictionary(
          (0..<Int.random(in: 0...4, using: &random)).map { _ in
            (string(&random), value(&random, depth: depth + 1))
          }, uniquingKeysWith: { $1 }))
    }
  }

  private static func string(_ random: inout some RandomNumberGenerator) -> String {
    let scalars = (0..<Int.random(in: 0...6, using: &random)).compactMap { _ in
      Unicode.Scalar(
        UInt32.random(
          in: 0...[0x22, 0x5d, 0x7f, 0x2ff, 0x2030, 0x1f600][Int.random(in: 0..<6, using: &random)], using: &random))
    }
    return String(String.UnicodeScalarView(scalars))
  }

  @Test("the text of a value is that of Foundation's encoder")
  func peer() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    var random = SystemRandomNumberGenerator()
    for _ in 0..<2_000 {
      let value = Self.value(&random)
      let expected = String(decoding: try encoder.encode(value), as: UTF8.self)
      try #require(String(decoding: value.text, as: UTF8.self) == expected)
      // Numbers that are integers are read as such.
      #expect(try JSONValue(reading: JSONValue(reading: value.text).text) == JSONValue(reading: value.text))
    }
  }

  @Test("a value with a number that JSON cannot represent is written as null", arguments: [Double.nan, .infinity])
  func notFinite(_ number: Double) {
    #expect(JSONValue.object(["a": .array([.integer(1), .number(number)])]).text == Array("null".utf8))
  }

  @Test("a value that is nested 2,000 deep is written")
  func deep() {
    var value = JSONValue.integer(1)
    for _ in 0..<2_000 { value = .array([value]) }
    #expect(value.text.count == 4_001)
  }
}

extension Double {
  fileprivate var finite: Double { isFinite ? self : 0.5 }
}
