import Foundation
import HTTPCache

/// A picture's size in pixels, read from its head without decoding it.
public struct ImageSize: Hashable, Sendable {
  /// The width in pixels, at least 1.
  public let width: Int
  /// The height in pixels, at least 1.
  public let height: Int

  init?(width: Int, height: Int) {
    guard width > 0, height > 0 else { return nil }
    self.width = width
    self.height = height
  }

  /// Reads the size of a picture; `nil` if its format is none of ``LoadedImage/format``, or the head is cut or has no valid
  /// size.
  ///
  /// - Parameter bytes: the file, or its beginning; the first MiB is read.
  public init?(of bytes: [UInt8]) {
    guard let size = ImageFormat(bytes).flatMap({ ImageSize(of: bytes, format: $0) }) else { return nil }
    self = size
  }

  /// Reads the size, or returns `nil` if the head is cut or has no valid size.
  ///
  /// - Parameters:
  ///   - bytes: the file, or its beginning; the first MiB is read.
  ///   - format: the format of the bytes.
  init?(of bytes: [UInt8], format: ImageFormat) {
    // A file has its picture's size near the beginning.
    let head = bytes.prefix(1 << 20)
    let size: ImageSize? =
      switch format {
      case .png: Self.png(head)
      case .jpeg: Self.jpeg(head)
      case .gif: Self.gif(head)
      case .webp: Self.webp(head)
      case .avif: Self.avif(head)
      case .svg: Self.svg(bytes)
      }
    guard let size else { return nil }
    self = size
  }

  /// PNG §11.2.2: the first chunk is IHDR.
  private static func png(_ head: ArraySlice<UInt8>) -> ImageSize? {
    guard head.text(12, 4) == "IHDR", let width = head.big(16, 4), let height = head.big(20, 4) else {
      return nil
    }
    return ImageSize(width: width, height: height)
  }

  /// ITU T.81 §B.2: segments up to the frame header.
  private static func jpeg(_ head: ArraySlice<UInt8>) -> ImageSize? {
    var position = 2
    while let marker = head.big(position, 2), marker >> 8 == 0xFF {
      let code = marker & 0xFF
      if code == 0xFF {
        position += 1
        continue
      }
      // Frame headers, without those of tables that share their range.
      if (0xC0...0xCF).contains(code), ![0xC4, 0xC8, 0xCC].contains(code) {
        guard let height = head.big(position + 5, 2), let width = head.big(position + 7, 2) else { return nil }
        return ImageSize(width: width, height: height)
      }
      if code == 0xD9 || code == 0xDA { return nil }
      if code == 0x01 || (0xD0...0xD8).contains(code) {
        position += 2
        continue
      }
      guard let length = head.big(position + 2, 2), length >= 2 else { return nil }
      position += 2 + length
    }
    return nil
  }

  /// GIF89a §18.
  private static func gif(_ head: ArraySlice<UInt8>) -> ImageSize? {
    guard let width = head.little(6, 2), let height = head.little(8, 2) else { return nil }
    return ImageSize(width: width, height: height)
  }

  /// RFC 9649 §2.4 to §2.7.
  private static func webp(_ head: ArraySlice<UInt8>) -> ImageSize? {
    switch head.text(12, 4) {
    case "VP8 ":
      guard let width = head.little(26, 2), let height = head.little(28, 2) else { return nil }
      return ImageSize(width: width & 0x3FFF, height: height & 0x3FFF)
    case "VP8L":
      guard head.big(20, 1) == 0x2F, let bits = head.little(21, 4) else { return nil }
      return ImageSize(width: (bits & 0x3FFF) + 1, height: (bits >> 14 & 0x3FFF) + 1)
    case "VP8X":
      guard let width = head.little(24, 3), let height = head.little(27, 3) else { return nil }
      return ImageSize(width: width + 1, height: height + 1)
    default: return nil
    }
  }

  /// ISO/IEC 23008-12 §6.5.3: the largest `ispe`, which is that of the whole picture if it has tiles.
  private static func avif(_ head: ArraySlice<UInt8>) -> ImageSize? {
    var largest: ImageSize?
    var position = 0
    while let found = head.find("ispe", from: position) {
      if let width = head.big(found + 8, 4), let height = head.big(found + 12, 4),
        let size = ImageSize(width: width, height: height),
        (largest?.width ?? 0) <= size.width
      {
        largest = size
      }
      position = found + 4
    }
    return largest
  }

  /// `width` and `height` if they are numbers or pixels, else the `viewBox`.
  private static func svg(_ bytes: [UInt8]) -> ImageSize? {
    let text = String(decoding: bytes.prefix(16 << 10), as: UTF8.self)
    guard let start = text.firstRange(of: "<svg")?.upperBound ?? text.firstRange(of: "<svg:svg")?.upperBound else {
      return nil
    }
    let tag = text[start...].prefix { $0 != ">" }
    func attribute(_ name: String) -> Substring? {
      for quote in ["\"", "'"] {
        for space in [" ", "\n", "\t"] {
          guard let found = tag.firstRange(of: "\(space)\(name)=\(quote)")?.upperBound else { continue }
          return tag[found...].prefix { String($0) != quote }
        }
      }
      return nil
    }
    func pixels(_ value: Substring?) -> Int? {
      guard var value, !value.isEmpty else { return nil }
      if value.hasSuffix("px") { value = value.dropLast(2) }
      return Double(value).flatMap { $0.isFinite ? Int(exactly: $0.rounded()) : nil }
    }
    if let width = pixels(attribute("width")), let height = pixels(attribute("height")) {
      return ImageSize(width: width, height: height)
    }
    let box = attribute("viewBox")?.split(whereSeparator: { $0 == " " || $0 == "," }) ?? []
    guard box.count == 4, let width = pixels(box[2]), let height = pixels(box[3]) else { return nil }
    return ImageSize(width: width, height: height)
  }
}

/// Reads numbers of a file's beginning; `nil` beyond its end.
extension ArraySlice<UInt8> {
  private func part(_ position: Int, _ count: Int) -> ArraySlice<UInt8>? {
    guard position >= 0, position <= self.count - count else { return nil }
    return self[position..<(position + count)]
  }

  fileprivate func big(_ position: Int, _ count: Int) -> Int? {
    part(position, count)?.reduce(0) { $0 << 8 | Int($1) }
  }

  fileprivate func little(_ position: Int, _ count: Int) -> Int? {
    part(position, count)?.reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  fileprivate func text(_ position: Int, _ count: Int) -> String? {
    part(position, count).map { String(decoding: $0, as: UTF8.self) }
  }

  fileprivate func find(_ name: String, from start: Int) -> Int? {
    guard start < count else { return nil }
    return self[start...].firstRange(of: Array(name.utf8))?.lowerBound
  }
}
