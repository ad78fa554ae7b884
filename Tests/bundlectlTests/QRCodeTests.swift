import Foundation
import PageTesting
import TestSupport
import Testing

@testable import bundlectl

struct QRCodeTests {
  /// A text of ASCII characters, of all kinds.
  static func text(_ count: Int) -> String {
    String(decoding: (0..<count).map { UInt8(33 + $0 * 31 % 94) }, as: UTF8.self)
  }

  static let texts =
    [1, 14, 15, 17, 26, 42, 60, 62, 84, 106, 120, 122, 152, 180, 181, 213].map(text) + [
      "http://192.168.1.20:8080/index.html?wsport=8080&_wx_tpl=http://192.168.1.20:8080/bundles/home.js",
      "https://pages.example.com/a%20b.js?x=1&y=%E4%BD%A0#z", "你好，世界",
    ]

  /// Texts as `zbarimg`, which shares nothing with the encoder, reads them from a picture.
  private static func read(_ code: QRCode, zoom: Int) async throws -> String {
    let folder = try TemporaryDirectory()
    let range = -QRCode.quietZone..<code.size + QRCode.quietZone
    var picture = Data("P5 \(range.count * zoom) \(range.count * zoom) 255\n".utf8)
    for y in range {
      let row = range.flatMap { [UInt8](repeating: code[$0, y] ? 0 : 255, count: zoom) }
      for _ in 0..<zoom { picture.append(contentsOf: row) }
    }
    try picture.write(to: URL(fileURLWithPath: folder.file("code.pgm")))
    let program: RunningProgram
    do {
      program = try RunningProgram(
        "zbarimg", ["--quiet", "--raw", "--nodbus", "-Sdisable", "-Sqrcode.enable", folder.file("code.pgm")])
    } catch {
      throw ProgramError(program: "zbarimg", reason: "\(error): run scripts/setup test")
    }
    let result = await program.result(within: .seconds(60))
    guard result.status == 0, result.output.last == "\n" else {
      throw ProgramError(program: "zbarimg", reason: "status \(result.status): \(result.output)\(result.error)")
    }
    return String(result.output.dropLast())
  }

  @Test("another program reads the text from a picture of the code", arguments: texts, [2, 5])
  func reading(text: String, zoom: Int) async throws {
    let code = try #require(QRCode(text))
    #expect(try await Self.read(code, zoom: zoom) == text)
  }

  @Test("a text gets the smallest version that holds it, and more than 213 bytes get none")
  func versions() {
    for (count, version) in [
      (0, 1), (14, 1), (15, 2), (26, 2), (27, 3), (42, 3), (43, 4), (62, 4), (63, 5), (84, 5), (85, 6), (106, 6),
      (107, 7), (122, 7), (123, 8), (152, 8), (153, 9), (180, 9), (181, 10), (213, 10),
    ] {
      #expect(QRCode(Self.text(count))?.size == 17 + 4 * version, "\(count)")
    }
    #expect(QRCode(Self.text(214)) == nil)
    // Bytes count, and not characters.
    #expect(QRCode(String(repeating: "你", count: 71))?.size == 57)
    #expect(QRCode(String(repeating: "你", count: 72)) == nil)
  }

  /// The modules of half blocks; an odd last row is light.
  private static func modules(of lines: [String], dark: Bool) -> [[Bool]] {
    lines.flatMap { line in
      [
        line.map { ($0 == "█" || $0 == "▀") == dark },
        line.map { ($0 == "█" || $0 == "▄") == dark },
      ]
    }
  }

  @Test("the lines for a terminal are the code's modules within four light ones", arguments: texts, [true, false])
  func lines(text: String, isColoured: Bool) throws {
    let code = try #require(QRCode(text))
    var lines = code.lines(isColoured: isColoured)
    if isColoured {
      let (begin, end) = ("\u{1B}[38;5;16;48;5;231m", "\u{1B}[0m")
      #expect(lines.allSatisfy { $0.hasPrefix(begin) && $0.hasSuffix(end) })
      lines = lines.map { String($0.dropFirst(begin.count).dropLast(end.count)) }
    }
    #expect(lines.allSatisfy { $0.allSatisfy { "▀▄█ ".contains($0) } && $0.count == code.columns })
    let modules = Self.modules(of: lines, dark: isColoured)
    let range = -QRCode.quietZone..<code.size + QRCode.quietZone
    #expect(modules.count == range.count + 1 && modules.last?.contains(true) == false)
    #expect(Array(modules.dropLast()) == range.map { y in range.map { code[$0, y] } })
    for edge in range {
      for depth in 1...QRCode.quietZone {
        #expect(!code[-depth, edge] && !code[edge, -depth])
        #expect(!code[code.size - 1 + depth, edge] && !code[edge, code.size - 1 + depth])
      }
    }
  }

  @Test("the penalty of a mask is that of ISO/IEC 18004, clause 7.8.3.1")
  func penalty() {
    let even = ["#.#.#.", ".#.#.#", "#.#.#.", ".#.#.#", "#.#.#.", ".#.#.#"]
    let odd = ["#.#.#.#.#", ".#.#.#.#.", "#.#.#.#.#", ".#.#.#.#.", "#.#.#.#.#", ".#.#.#.#.", "#.#.#.#.#", ".#.#.#.#."]
    let table: [(rows: [String], penalty: Int)] = [
      (even, 0),
      // 12 runs of six for 4 each, 25 blocks of 2 × 2 for 3 each, and 50 % away from a half for 100.
      (Array(repeating: "......", count: 6), 223), (Array(repeating: "######", count: 6), 223),
      // A run of five for 3, and 20 dark modules of 36, 5.6 % more than half, for 10.
      (["#####."] + even.dropFirst(), 13),
      // A finder pattern with the edge before it.
      (["#.###.#.#"] + odd.dropFirst() + odd.prefix(1), 40),
      // One with a dark module within four on both sides.
      (["#.#.###.#.#"] + (1..<11).map { $0.isMultiple(of: 2) ? "#.#.#.#.#.#" : ".#.#.#.#.#." }, 0),
    ]
    for (rows, penalty) in table {
      let modules = rows.flatMap { $0.map { $0 == "#" } }
      let grid = ModuleGrid(size: rows.count, isDark: modules, isReserved: modules.map { _ in false })
      #expect(grid.penalty == penalty, "\(rows)")
    }
  }

  @Test("the mask is the one that segno, another implementation of the penalties, gives the least")
  func masks() {
    let masks = [0, 0, 0, 0, 0, 7, 6, 3, 0, 3, 2, 2, 6, 3, 2, 6]
    #expect(Self.texts.prefix(masks.count).map { QRCode($0)?.mask } == masks)
  }
}
