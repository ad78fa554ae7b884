import Foundation
import PageTesting
import Testing

@testable import HTTPTransport

/// Texts that are almost JSON, from fixed seeds: the reader and Foundation's agree on each of them.
struct JSONFuzzTests {
  /// Makes texts by a few edits of valid ones.
  private struct Source {
    private var random: SeededGenerator
    private static let valid: [String] = [
      #"{"schema": 1, "release": "r1", "bundles": [{"name": "home", "size": 5213, "md5": "9001"}], "files": []}"#,
      #"[1, -2.5e3, 0.125, true, false, null, "a\u00e9\n\"b\"", {"a": {"b": [[], {}]}}]"#,
      #"{"id":"é😀","n":9223372036854775807,"m":-9223372036854775809,"e":1e19,"s":"\ud83d\ude00\\\/"}"#,
      #" [ [ [ [ "x" , 1 ] ] , { "y" : 0 } ] ] "#, "-0.0", "\"\"", "1E+2",
    ]
    private static let pieces: [String] = [
      "[", "]", "{", "}", ",", ":", "\"", "\\", "\\u", "\\ud800", "\\udc00", "0", "1", "-", "+", ".", "e", "E5", "null",
      "true", " ", "\n", "\t", "\u{0}", "\u{1F}", "é", "\u{FEFF}", "NaN", "99999999999999999999", "1e999", "\"a\":",
      "/",
    ]

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func next() -> [UInt8] {
      var bytes = Array((Self.valid.randomElement(using: &random) ?? "").utf8)
      for _ in 0..<Int.random(in: 0...4, using: &random) {
        let place = Int.random(in: 0...bytes.count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0, 1: bytes.insert(contentsOf: (Self.pieces.randomElement(using: &random) ?? "").utf8, at: place)
        case 2: bytes.removeLast(bytes.count - place)
        case 3: bytes.insert(contentsOf: (Self.valid.randomElement(using: &random) ?? "").utf8, at: place)
        case 4 where place < bytes.count: bytes.remove(at: place)
        case 5 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &random)
        default: break
        }
      }
      return bytes
    }
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func theReaderAndFoundationAgree(_ seed: UInt64) async {
    var source = Source(seed: seed)
    var accepted = 0
    for round in 0..<5_000 {
      if round % 100 == 0 { await Task.yield() }
      let bytes = source.next()
      // Foundation guesses other encodings.
      guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else {
        _ = try? JSONValue(reading: bytes)
        continue
      }
      let own = try? JSONValue(reading: bytes)
      let other = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes))
      if own != nil { accepted += 1 }
      guard own.map(Rounded.init) == other.map(Rounded.init) else {
        Issue.record("\(String(decoding: bytes, as: UTF8.self).debugDescription): \(own as Any), \(other as Any)")
        return
      }
    }
    // Both results have occurred.
    #expect((500...4_500).contains(accepted), "\(accepted)")
  }

  /// A value whose numbers beyond 2⁵³ are as near as a `Double` is: there Foundation reads decimals in its own way.
  private struct Rounded: Equatable {
    private let text: String

    init(_ value: JSONValue) { text = Self.text(value) }

    private static func text(_ value: JSONValue) -> String {
      switch value {
      case .integer(let number): "\(Double(number))"
      case .number(let number): "\(number)"
      case .array(let values): "[\(values.map(text).joined(separator: ","))]"
      case .object(let members):
        "{\(members.sorted { $0.key < $1.key }.map { "\($0.key.debugDescription):\(text($0.value))" }.joined(separator: ","))}"
      case .string(let string): string.debugDescription
      case .null, .bool: "\(value)"
      }
    }
  }
}
