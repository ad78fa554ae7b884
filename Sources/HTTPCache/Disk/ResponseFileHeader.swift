import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes

/// The header in front of the body in a response's file, and in its row of the index: enough to build the index anew.
///
/// It begins with a seal: a mark, and the length and the SHA-256 of the front, which follows. The front has a fixed
/// layout, in ``HeaderWriter``; files that were written before that have JSON there, and another mark.
struct ResponseFileHeader: Hashable, Sendable {
  let entry: ResponseEntry
  /// The bytes follow in the same file.
  let isInline: Bool

  /// The forms of a front.
  enum Format: String, CaseIterable {
    /// JSON, in files of older versions; it is read, and no longer written.
    case json = "PKR1"
    case binary = "PKR2"

    var mark: String.UTF8View { rawValue.utf8 }
  }

  /// Bytes of a front.
  private static let frontLimit = 4 << 20
  private static let markSize = 4
  private static let lengthEnd = markSize + 4
  /// Bytes of the seal.
  static let sealSize = lengthEnd + SHA256Digest.byteCount

  // MARK: Writing

  /// The header's bytes: seal and front. Returns `nil` if the front would be too long.
  ///
  /// - Throws: ``DigestError``.
  func sealed() throws -> [UInt8]? {
    var writer = HeaderWriter(Array(Format.binary.mark) + [UInt8](repeating: 0, count: Self.sealSize - Self.markSize))
    writer.write(self)
    var bytes = writer.bytes
    let length = bytes.count - Self.sealSize
    guard length <= Self.frontLimit else { return nil }
    for index in 0..<4 { bytes[Self.markSize + index] = UInt8(truncatingIfNeeded: length >> (index * 8)) }
    bytes.replaceSubrange(Self.lengthEnd..<Self.sealSize, with: try Self.digest(bytes[Self.sealSize...]).bytes)
    return bytes
  }

  private static func digest(_ bytes: ArraySlice<UInt8>) throws -> SHA256Digest {
    var digester = try Digester.sha256()
    bytes.withUnsafeBytes { digester.update($0) }
    return try digester.finish()
  }

  // MARK: Reading

  /// The position of an inline body, from a file's first bytes; `nil` if they are not such a file's.
  static func bodyStart(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= sealSize, format(of: bytes) != nil else { return nil }
    let length = (0..<4).reduce(0) { $0 | Int(bytes[markSize + $1]) << ($1 * 8) }
    return length <= frontLimit ? sealSize + length : nil
  }

  private static func format(of bytes: [UInt8]) -> Format? {
    Format.allCases.last { bytes.starts(with: $0.mark) }
  }

  /// A header whose seal was checked.
  struct Sealed {
    fileprivate let format: Format
    /// The bytes that begin with the header; a body may follow.
    fileprivate let file: [UInt8]
    /// The number of its bytes.
    let count: Int

    /// Seal and front.
    var bytes: [UInt8] { file.count == count ? file : Array(file[..<count]) }

    /// The header; `nil` if its values contradict each other.
    ///
    /// - Parameter isKept: whether the file lies in the durable folder.
    func header(isKept: Bool) -> ResponseFileHeader? {
      ResponseFileHeader(front: file[sealSize..<count], format, isKept: isKept)
    }
  }

  /// Checks the seal of the header that a file begins with; `nil` if anything in the header was changed.
  static func open(_ bytes: [UInt8]) -> Sealed? {
    guard let format = format(of: bytes), let end = bodyStart(bytes), bytes.count >= end else { return nil }
    guard let digest = try? digest(bytes[sealSize..<end]), digest.bytes.elementsEqual(bytes[lengthEnd..<sealSize])
    else { return nil }
    return Sealed(format: format, file: bytes, count: end)
  }

  init(_ entry: ResponseEntry, isInline: Bool) { (self.entry, self.isInline) = (entry, isInline) }

  /// Reads a front; `nil` if it is not one, or its values contradict each other.
  init?(front: ArraySlice<UInt8>, _ format: Format, isKept: Bool) {
    switch format {
    case .json:
      guard let record = try? JSONDecoder().decode(HeaderRecord.self, from: Data(front)),
        let entry = record.entry(isKept: isKept)
      else { return nil }
      self.init(entry, isInline: record.isInline)
    case .binary:
      guard let header = front.withUnsafeBytes({ HeaderReader.header($0, isKept: isKept) }) else { return nil }
      self = header
    }
  }
}

extension Extent {
  /// Returns `nil` for a part that cannot be.
  ///
  /// - Parameters:
  ///   - first: the first position of a part; `nil` for the whole.
  ///   - count: bytes stored.
  ///   - size: of the whole representation; `nil` if a part came without.
  init?(first: Int64?, count: Int64, size: Int64?) {
    guard count >= 0 else { return nil }
    guard let first else {
      self = .whole(count)
      return
    }
    guard first >= 0, first < .max - count else { return nil }
    self = .part(first..<(first + count), of: size)
  }
}
