import CZstd
import Foundation
import HTTPTypes
import RawStructuredFieldValues

/// Bytes that both ends have: content that resembles them is sent as its difference. RFC 9842.
package struct ContentDictionary: Sendable {
  package let bytes: [UInt8]
  /// The SHA-256 of the bytes.
  package let digest: SHA256Digest

  /// The largest dictionary in bytes, which bounds the memory of a decoder.
  package static let sizeLimit: Int64 = 16 << 20

  /// - Parameter digest: the SHA-256 of `bytes`.
  package init(_ bytes: [UInt8], digest: SHA256Digest) { (self.bytes, self.digest) = (bytes, digest) }
}

extension SHA256Digest {
  /// Reads the value of `Available-Dictionary`; `nil` if it is absent or no SHA-256. RFC 9842 §2.2.
  package init?(availableDictionary fields: HTTPFields) {
    guard let name = HTTPField.Name.availableDictionary, let value = fields[name] else { return nil }
    var parser = StructuredFieldValueParser(Array(value.utf8))
    guard case .undecodedByteSequence(let text) = try? parser.parseItemFieldValue().rfc9651BareItem,
      let bytes = Data(base64Encoded: text)
    else { return nil }
    self.init(bytes: bytes)
  }

  /// The value of `Available-Dictionary` for a dictionary with this digest: a byte sequence of RFC 9651 §3.3.5.
  package var availableDictionary: String { ":\(Data(bytes).base64EncodedString()):" }
}

extension HTTPField.Name {
  /// The SHA-256 of the dictionary that the sender of a request has. RFC 9842 §2.2.
  package static let availableDictionary = HTTPField.Name("Available-Dictionary")
  /// The URLs for which a response is a dictionary. RFC 9842 §2.1.
  package static let useAsDictionary = HTTPField.Name("Use-As-Dictionary")
}

/// Dictionary-Compressed Zstandard: a header that names the dictionary, and a Zstandard frame whose first matches are
/// in it. RFC 9842 §5.
package enum DictionaryZstd {
  /// Its name in `Accept-Encoding` and `Content-Encoding`.
  package static let token = "dcz"

  /// Returns `true` if a value of `Content-Encoding` names it.
  package static func isApplied(in encoding: String) -> Bool {
    encoding.split(separator: ",").contains { $0.filter { $0 != " " && $0 != "\t" }.lowercased() == token }
  }

  /// The start of the header: a skippable frame (RFC 8878 §3.1.2) of 32 bytes.
  private static let magic: [UInt8] = [0x5E, 0x2A, 0x4D, 0x18, 0x20, 0, 0, 0]
  static let headerSize = magic.count + SHA256Digest.byteCount

  /// Returns the content as a difference to the dictionary; `nil` if libzstd refuses.
  ///
  /// It takes about 0.3 seconds for 1 MB, and up to 20 times the memory of both.
  package static func encode(_ content: [UInt8], with dictionary: ContentDictionary) -> [UInt8]? {
    guard let context = ZSTD_createCCtx() else { return nil }
    defer { ZSTD_freeCCtx(context) }
    let size = content.count + dictionary.bytes.count
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, size <= patience ? 19 : 9)
    ZSTD_CCtx_setParameter(
      context, ZSTD_c_windowLog, windowLog(of: content.count, with: dictionary.bytes.count))
    if size > patience { ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1) }
    return dictionary.bytes.withUnsafeBytes { prefix -> [UInt8]? in
      guard ZSTD_isError(ZSTD_CCtx_refPrefix(context, prefix.baseAddress, prefix.count)) == 0 else { return nil }
      let header = magic + dictionary.digest.bytes
      var isDone = false
      let encoded = [UInt8](unsafeUninitializedCapacity: headerSize + ZSTD_compressBound(content.count)) {
        buffer, count in
        _ = buffer.update(fromContentsOf: header)
        let frame = UnsafeMutableBufferPointer(rebasing: buffer[headerSize...])
        let size = ZSTD_compress2(context, frame.baseAddress, frame.count, content, content.count)
        isDone = ZSTD_isError(size) == 0
        count = isDone ? headerSize + size : 0
      }
      return isDone ? encoded : nil
    }
  }

  /// The bytes above which a high level would take too long.
  private static let patience = 8 << 20

  /// The largest window in bytes that a client has to decode: 8 MiB, or 1.25 times the dictionary if that is more, and at
  /// most 128 MiB. RFC 9842 §5.
  static func windowLimit(for dictionarySize: Int) -> Int {
    min(128 << 20, max(1 << Int(ZstdStream.windowLogLimit), dictionarySize + dictionarySize / 4))
  }

  /// The window of a content, as a power of two.
  ///
  /// It covers the dictionary and the content, so that the start of the one can be used for the end of the other. The
  /// frame of a content that is smaller says that its window is the content (RFC 8878 §3.1.1.1.2), which is within the
  /// limit then.
  static func windowLog(of contentSize: Int, with dictionarySize: Int) -> Int32 {
    let limit = windowLimit(for: dictionarySize)
    let wanted = min(27, logarithm(contentSize + dictionarySize))
    return contentSize <= limit ? wanted : min(wanted, logarithm(limit + 1) - 1)
  }

  /// The logarithm of the smallest power of two that is not smaller.
  static func logarithm(_ size: Int) -> Int32 {
    max(10, Int32(Int.bitWidth - (max(1, size) - 1).leadingZeroBitCount))
  }

  /// Returns the dictionary's digest in the header; `nil` if it has another form.
  ///
  /// - Parameter header: the first ``headerSize`` bytes.
  static func dictionary(in header: [UInt8]) -> SHA256Digest? {
    header.starts(with: magic) ? SHA256Digest(bytes: header.dropFirst(magic.count)) : nil
  }
}

/// Decodes Dictionary-Compressed Zstandard with libzstd.
final class DictionaryZstdStream: DecodingStream {
  private let dictionary: ContentDictionary
  private let frames: ZstdStream
  private var header: [UInt8] = []

  init(_ dictionary: ContentDictionary) {
    self.dictionary = dictionary
    frames = ZstdStream(
      prefix: dictionary.bytes,
      windowLogLimit: DictionaryZstd.logarithm(DictionaryZstd.windowLimit(for: dictionary.bytes.count)))
  }

  var isAtEnd: Bool { frames.isAtEnd }

  func decode(_ input: UnsafeRawBufferPointer, emit: (UnsafeRawBufferPointer) throws -> Void) throws {
    var input = input
    if header.count < DictionaryZstd.headerSize {
      let part = input.prefix(DictionaryZstd.headerSize - header.count)
      header += part
      guard header.count == DictionaryZstd.headerSize else { return }
      guard let named = DictionaryZstd.dictionary(in: header) else {
        throw StreamFault(reason: "it has no header of a dictionary")
      }
      guard named == dictionary.digest else {
        throw StreamFault(reason: "it needs the dictionary \(named), and \(dictionary.digest) was offered")
      }
      input = UnsafeRawBufferPointer(rebasing: input[part.count...])
    }
    try frames.decode(input, emit: emit)
  }
}
