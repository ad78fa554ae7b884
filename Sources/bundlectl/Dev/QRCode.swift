/// A QR code of a text: ISO/IEC 18004, byte mode, error correction level M, versions 1 to 10.
///
/// The bytes are UTF-8, which readers recognise without being told.
struct QRCode: Sendable {
  /// The largest number of bytes that a code holds.
  static let byteLimit = 213
  /// The light modules that ISO/IEC 18004 §6.3.8 demands on each side.
  static let quietZone = 4

  /// The number of modules on each side, without the quiet zone.
  let size: Int
  /// The number of the mask, 0 to 7.
  let mask: Int
  private let modules: ModuleGrid

  /// Encodes a text in the smallest version that holds it.
  ///
  /// - Returns: `nil` if it has more than ``byteLimit`` bytes.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard let version = Version.all.first(where: { $0.capacity >= bytes.count }) else { return nil }
    let codewords = version.interleaved(version.dataCodewords(of: bytes))
    var unmasked = ModuleGrid(version)
    unmasked.place(codewords)
    // ISO/IEC 18004 §7.8.3.1: the mask with the least penalty, and the first of those.
    var best = (mask: 0, grid: unmasked, penalty: Int.max)
    for mask in 0..<8 {
      var grid = unmasked
      grid.apply(mask: mask)
      let penalty = grid.penalty
      if penalty < best.penalty { best = (mask, grid, penalty) }
    }
    (size, mask, modules) = (version.size, best.mask, best.grid)
  }

  /// `true` if a module is dark. Those outside of the code are light.
  subscript(x: Int, y: Int) -> Bool {
    (0..<size).contains(x) && (0..<size).contains(y) && modules[x, y]
  }

  // MARK: In a terminal

  /// The columns of ``lines(isColoured:)``, with the quiet zone.
  var columns: Int { size + 2 * Self.quietZone }

  /// The code with its quiet zone in half blocks: a character is a module wide, and two high.
  ///
  /// - Parameter isColoured: `true` for dark modules on white by escape sequences, whatever the terminal's colours are.
  ///   Without them the light modules are drawn, in the colour of its text, as for a terminal with a dark background.
  func lines(isColoured: Bool) -> [String] {
    let range = -Self.quietZone..<size + Self.quietZone
    return stride(from: range.lowerBound, to: range.upperBound, by: 2).map { y in
      let blocks = range.map { x -> Character in
        switch (self[x, y] == isColoured, self[x, y + 1] == isColoured) {
        case (true, true): "█"
        case (true, false): "▀"
        case (false, true): "▄"
        case (false, false): " "
        }
      }
      // Black on white of the 256 colours, which no theme of a terminal changes.
      return isColoured ? "\u{1B}[38;5;16;48;5;231m\(String(blocks))\u{1B}[0m" : String(blocks)
    }
  }
}

// MARK: Codewords

extension QRCode {
  /// The last bits of a value, the highest first.
  fileprivate static func bits(of value: Int, _ count: Int) -> [Bool] {
    (0..<count).reversed().map { value >> $0 & 1 == 1 }
  }

  /// A version at error correction level M. ISO/IEC 18004 tables 1, 7, 9 and E.1.
  struct Version: Sendable {
    let number: Int
    /// The codewords of data and of error correction.
    let total: Int
    /// The blocks that are corrected by themselves.
    let blocks: Int
    /// The codewords of error correction in each block.
    let correction: Int
    /// The centres of alignment patterns, across and down.
    let alignment: [Int]

    static let all: [Version] = [
      .init(number: 1, total: 26, blocks: 1, correction: 10, alignment: []),
      .init(number: 2, total: 44, blocks: 1, correction: 16, alignment: [6, 18]),
      .init(number: 3, total: 70, blocks: 1, correction: 26, alignment: [6, 22]),
      .init(number: 4, total: 100, blocks: 2, correction: 18, alignment: [6, 26]),
      .init(number: 5, total: 134, blocks: 2, correction: 24, alignment: [6, 30]),
      .init(number: 6, total: 172, blocks: 4, correction: 16, alignment: [6, 34]),
      .init(number: 7, total: 196, blocks: 4, correction: 18, alignment: [6, 22, 38]),
      .init(number: 8, total: 242, blocks: 4, correction: 22, alignment: [6, 24, 42]),
      .init(number: 9, total: 292, blocks: 5, correction: 22, alignment: [6, 26, 46]),
      .init(number: 10, total: 346, blocks: 5, correction: 26, alignment: [6, 28, 50]),
    ]

    var size: Int { 17 + 4 * number }
    private var dataCount: Int { total - blocks * correction }
    /// The bits of the count of bytes. ISO/IEC 18004 table 3.
    private var countBits: Int { number < 10 ? 8 : 16 }
    /// The number of bytes that fit behind the mode and the count.
    var capacity: Int { dataCount - (4 + countBits + 7) / 8 }

    /// The codewords of the data: mode, count, bytes, terminator and padding. ISO/IEC 18004 §7.4.
    func dataCodewords(of bytes: [UInt8]) -> [UInt8] {
      var bits: [Bool] = []
      bits += QRCode.bits(of: 0b0100, 4)
      bits += QRCode.bits(of: bytes.count, countBits)
      for byte in bytes { bits += QRCode.bits(of: Int(byte), 8) }
      bits += QRCode.bits(of: 0, min(4, dataCount * 8 - bits.count))
      bits += QRCode.bits(of: 0, (8 - bits.count % 8) % 8)
      var codewords = stride(from: 0, to: bits.count, by: 8).map { start in
        bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
      }
      while codewords.count < dataCount { codewords += [0xEC, 0x11].prefix(dataCount - codewords.count) }
      return codewords
    }

    /// The codewords in the order in which they are placed: the first of each block, then the second of each, and in the
    /// same way those of error correction. ISO/IEC 18004 §7.6.
    func interleaved(_ data: [UInt8]) -> [UInt8] {
      // The last blocks have one codeword more if they do not come out even.
      let (short, longBlocks) = (dataCount / blocks, dataCount % blocks)
      var rest = data[...]
      let parts = (0..<blocks).map { block in
        let count = block < blocks - longBlocks ? short : short + 1
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
      }
      let corrections = parts.map { ReedSolomon.remainder(of: $0, count: correction) }
      let placed = (0...short).flatMap { index in parts.compactMap { index < $0.count ? $0[index] : nil } }
      return placed + (0..<correction).flatMap { index in corrections.map { $0[index] } }
    }
  }

  /// Error correction over GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1. ISO/IEC 18004 §7.5.2.
  enum ReedSolomon {
    static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
      var (result, factor, rest) = (UInt8(0), left, right)
      while rest != 0 {
        if rest & 1 == 1 { result ^= factor }
        factor = factor << 1 ^ (factor & 0x80 != 0 ? 0x1D : 0)
        rest >>= 1
      }
      return result
    }

    /// The codewords of error correction: the remainder by the product of all (x - 2^i).
    static func remainder(of data: [UInt8], count: Int) -> [UInt8] {
      // The generator without its first coefficient, which is 1.
      var generator = [UInt8](repeating: 0, count: count - 1) + [1]
      var root: UInt8 = 1
      for _ in 0..<count {
        for index in 0..<count {
          let next = index + 1 < count ? generator[index + 1] : 0
          generator[index] = product(generator[index], root) ^ next
        }
        root = product(root, 2)
      }
      var result = [UInt8](repeating: 0, count: count)
      for byte in data {
        let factor = byte ^ result[0]
        result = Array(result.dropFirst()) + [0]
        for index in 0..<count { result[index] ^= product(generator[index], factor) }
      }
      return result
    }
  }
}

// MARK: Modules

/// The modules of a QR code, and which of them have a function of their own.
struct ModuleGrid: Sendable {
  let size: Int
  /// The modules row by row.
  var isDark: [Bool]
  /// `true` for modules that carry no codewords, and no mask changes.
  var isReserved: [Bool]

  subscript(x: Int, y: Int) -> Bool { isDark[y * size + x] }
}

extension ModuleGrid {
  /// The patterns of a version. ISO/IEC 18004 §6.3.
  init(_ version: QRCode.Version) {
    let light = [Bool](repeating: false, count: version.size * version.size)
    self.init(size: version.size, isDark: light, isReserved: light)
    for index in 0..<size {
      reserve(6, index, index.isMultiple(of: 2))
      reserve(index, 6, index.isMultiple(of: 2))
    }
    for (x, y) in [(3, 3), (size - 4, 3), (3, size - 4)] { placeSquares(x, y, radius: 4) }
    // None is in the three corners that have finder patterns.
    let corners = [(6, 6), (6, size - 7), (size - 7, 6)]
    for x in version.alignment {
      for y in version.alignment where !corners.contains(where: { $0 == (x, y) }) { placeSquares(x, y, radius: 2) }
    }
    // The places of the format, which is written with the mask, and the dark module.
    placeFormat(mask: 0)
    if version.number >= 7 { placeVersion(version.number) }
  }

  private mutating func reserve(_ x: Int, _ y: Int, _ isDark: Bool) {
    guard (0..<size).contains(x), (0..<size).contains(y) else { return }
    (self.isDark[y * size + x], isReserved[y * size + x]) = (isDark, true)
  }

  /// Squares around a centre: a finder pattern with its separator has the radius 4, an alignment pattern 2.
  private mutating func placeSquares(_ x: Int, _ y: Int, radius: Int) {
    let light = radius == 4 ? [2, 4] : [1]
    for down in -radius...radius {
      for across in -radius...radius { reserve(x + across, y + down, !light.contains(max(abs(across), abs(down)))) }
    }
  }

  /// A value followed by the remainder of its division by a generator. ISO/IEC 18004 annexes C and D.
  private static func withRemainder(_ value: Int, by generator: Int, bits: Int) -> Int {
    var remainder = value
    for _ in 0..<bits { remainder = remainder << 1 ^ (remainder >> (bits - 1) & 1) * generator }
    return value << bits | remainder
  }

  /// Writes the level M and the mask twice, and the dark module. ISO/IEC 18004 §7.9.
  private mutating func placeFormat(mask: Int) {
    // The level's bits are 00.
    let format = Self.withRemainder(mask, by: 0x537, bits: 10) ^ 0x5412
    for bit in 0..<15 {
      let isDark = format >> bit & 1 == 1
      // Past the timing pattern of row and column 6.
      switch bit {
      case ..<6: reserve(8, bit, isDark)
      case 6, 7: reserve(8, bit + 1, isDark)
      case 8: reserve(7, 8, isDark)
      default: reserve(14 - bit, 8, isDark)
      }
      if bit < 8 { reserve(size - 1 - bit, 8, isDark) } else { reserve(8, size - 15 + bit, isDark) }
    }
    reserve(8, size - 8, true)
  }

  /// Writes the version twice. ISO/IEC 18004 §7.10.
  private mutating func placeVersion(_ number: Int) {
    let value = Self.withRemainder(number, by: 0x1F25, bits: 12)
    for bit in 0..<18 {
      let (far, near) = (size - 11 + bit % 3, bit / 3)
      reserve(far, near, value >> bit & 1 == 1)
      reserve(near, far, value >> bit & 1 == 1)
    }
  }

  /// Places codewords two columns at a time from the right, up and down in turn. Modules that are left stay light. ISO/IEC
  /// 18004 §7.7.3.
  mutating func place(_ codewords: [UInt8]) {
    var bits = codewords.flatMap { QRCode.bits(of: Int($0), 8) }[...]
    var isUpward = true
    // The column of the timing pattern belongs to no pair.
    for right in stride(from: size - 1, to: 0, by: -2).map({ $0 > 6 ? $0 : $0 - 1 }) {
      for step in 0..<size {
        let y = isUpward ? size - 1 - step : step
        for x in [right, right - 1] where !isReserved[y * size + x] {
          isDark[y * size + x] = bits.popFirst() ?? false
        }
      }
      isUpward.toggle()
    }
  }

  /// Turns the modules that carry codewords over where a mask says so, and writes the mask's number. ISO/IEC 18004 §7.8.2.
  mutating func apply(mask: Int) {
    for y in 0..<size {
      for x in 0..<size where !isReserved[y * size + x] {
        let isTurned =
          switch mask {
          case 0: (x + y) % 2 == 0
          case 1: y % 2 == 0
          case 2: x % 3 == 0
          case 3: (x + y) % 3 == 0
          case 4: (x / 3 + y / 2) % 2 == 0
          case 5: x * y % 2 + x * y % 3 == 0
          case 6: (x * y % 2 + x * y % 3) % 2 == 0
          default: ((x + y) % 2 + x * y % 3) % 2 == 0
          }
        if isTurned { isDark[y * size + x].toggle() }
      }
    }
    placeFormat(mask: mask)
  }

  /// The penalty for what readers take for something else. ISO/IEC 18004 §7.8.3.1.
  var penalty: Int {
    let rows = (0..<size).map { y in (0..<size).map { self[$0, y] } }
    let columns = (0..<size).map { x in (0..<size).map { self[x, $0] } }
    var penalty = (rows + columns).reduce(0) { $0 + Self.penalty(of: $1) }
    for y in 0..<size - 1 {
      for x in 0..<size - 1 {
        let isDark = self[x, y]
        if self[x + 1, y] == isDark, self[x, y + 1] == isDark, self[x + 1, y + 1] == isDark { penalty += 3 }
      }
    }
    // 10 for each 5 % by which the share of dark modules is away from a half.
    let dark = isDark.count { $0 }
    return penalty + abs(dark * 20 - isDark.count * 10) / isDark.count * 10
  }

  /// The penalty of a row or column: for five or more equal modules in succession, and for what looks like a finder
  /// pattern with four light modules before or after it. Those outside of the code are light.
  private static func penalty(of line: [Bool]) -> Int {
    var penalty = 0
    var run = 0
    for (index, isDark) in line.enumerated() {
      run = index > 0 && line[index - 1] == isDark ? run + 1 : 1
      if run == 5 { penalty += 3 } else if run > 5 { penalty += 1 }
    }
    let finder = [true, false, true, true, true, false, true]
    for start in 0..<max(0, line.count - 6) where line[start..<start + 7].elementsEqual(finder) {
      let before = line[max(0, start - 4)..<start]
      let after = line[min(start + 7, line.count)..<min(start + 11, line.count)]
      if !before.contains(true) || !after.contains(true) { penalty += 40 }
    }
    return penalty
  }
}
