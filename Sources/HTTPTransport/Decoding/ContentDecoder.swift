/// Decodes one body chunk by chunk: gzip, Brotli and Zstandard, also with a dictionary, with zlib, libbrotli and libzstd.
/// Used by one task at a time.
///
/// The end of every stream is checked, and the output is limited while it is produced.
package final class ContentDecoder {
  /// The value of `Accept-Encoding` for requests without a dictionary: `zstd, br, gzip`.
  package static let acceptEncoding = "zstd, br, gzip"

  private let stages: [(stream: any DecodingStream, coding: String)]
  private let url: String
  private let limit: Int64
  /// The bytes that each stage has produced; without stages, those that were passed on.
  private var produced: [Int64]

  /// Makes a decoder for one body, with at most three encodings.
  ///
  /// - Parameters:
  ///   - encoding: the value of `Content-Encoding`; a list is decoded from its end. RFC 9110 §8.4.
  ///   - url: the URL that errors name.
  ///   - limit: the largest number of decoded bytes.
  ///   - dictionary: the dictionary that the request offered; `nil` if it offered none.
  /// - Throws: ``ContentError/unsupportedEncoding(url:encoding:)``.
  package init(for encoding: String, url: String, limit: Int64, dictionary: ContentDictionary? = nil) throws {
    // RFC 9110 §8.4: the list is in the order of application, so it is decoded from its end.
    let codings = encoding.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
    let applied = codings.filter { !$0.isEmpty && $0 != "identity" }.reversed()
    stages = try applied.map { coding in
      guard let stream = Self.stream(for: coding, dictionary) else {
        throw ContentError.unsupportedEncoding(url: url, encoding: coding)
      }
      return (stream, coding)
    }
    guard stages.count <= 3 else { throw ContentError.unsupportedEncoding(url: url, encoding: encoding) }
    (self.url, self.limit, produced) = (url, limit, Array(repeating: 0, count: max(1, stages.count)))
  }

  /// Makes a decoder of one stream.
  package init(_ stream: any DecodingStream, coding: String, url: String, limit: Int64) {
    (stages, self.url, self.limit, produced) = ([(stream, coding)], url, limit, [0])
  }

  /// Returns the decoded bytes of a chunk, possibly none.
  ///
  /// - Throws: ``ContentError``.
  package func decode(_ chunk: [UInt8]) throws -> [UInt8] {
    var bytes = chunk
    if stages.isEmpty { try count(bytes.count, of: 0) }
    for (index, stage) in stages.enumerated() {
      var output: [UInt8] = []
      do {
        try bytes.withUnsafeBytes { input in
          try stage.stream.decode(input) { piece in
            try count(piece.count, of: index)
            output.append(contentsOf: piece)
          }
        }
      } catch let fault as StreamFault {
        throw ContentError.corruptEncoding(url: url, encoding: stage.coding, reason: fault.reason)
      }
      bytes = output
    }
    return bytes
  }

  private func count(_ bytes: Int, of stage: Int) throws {
    produced[stage] += Int64(bytes)
    guard produced[stage] <= limit else { throw ContentError.tooLarge(url: url, limit: limit) }
  }

  /// Checks that the encoded stream is complete. To be called when the body has ended.
  ///
  /// - Throws: ``ContentError/cutShort(url:encoding:)`` if the encoded stream is incomplete.
  package func finish() throws {
    for (stream, coding) in stages where !stream.isAtEnd {
      throw ContentError.cutShort(url: url, encoding: coding)
    }
  }

  private static func stream(for coding: String, _ dictionary: ContentDictionary?) -> (any DecodingStream)? {
    switch coding {
    case "gzip", "x-gzip": GzipStream()  // RFC 9110 §8.4.1.3: the two are equivalent
    case "br": BrotliStream()
    case "zstd": ZstdStream()
    case DictionaryZstd.token: dictionary.map { DictionaryZstdStream($0) }
    default: nil
    }
  }
}

/// The reason why a response's body cannot be decoded.
public enum ContentError: Error, Hashable, Sendable, CustomStringConvertible {
  /// `Content-Encoding` names an encoding that was not requested.
  case unsupportedEncoding(url: String, encoding: String)
  /// The encoded data is damaged.
  case corruptEncoding(url: String, encoding: String, reason: String)
  /// The encoded data ends too early.
  case cutShort(url: String, encoding: String)
  /// The decoded content has more than `limit` bytes.
  case tooLarge(url: String, limit: Int64)

  public var description: String {
    switch self {
    case .unsupportedEncoding(let url, let encoding):
      "\(url): the answer is encoded as \(encoding.quotedForMessage), which was not asked for"
    case .corruptEncoding(let url, let encoding, let reason): "\(url): the \(encoding) data is damaged: \(reason)"
    case .cutShort(let url, let encoding): "\(url): the \(encoding) data ends too early"
    case .tooLarge(let url, let limit): "\(url): the decoded content has more than the limit of \(limit) bytes"
    }
  }
}
