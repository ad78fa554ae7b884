/// Decodes gzip, Brotli and Zstandard, also with a dictionary, with zlib, libbrotli and libzstd.
///
/// The end of every stream is checked, and the output is limited while it is produced.
package struct ContentDecoder: ContentDecoding {
  /// Makes a decoder.
  package init() {}

  /// `zstd, br, gzip`.
  package var acceptEncoding: String { "zstd, br, gzip" }

  /// Returns a decoder for one body, with at most three encodings.
  ///
  /// - Throws: ``ContentError/unsupportedEncoding(url:encoding:)``.
  package func decoder(
    for encoding: String, url: String, limit: Int64, dictionary: ContentDictionary?
  ) throws -> any BodyDecoding {
    // RFC 9110 §8.4: the list is in the order of application, so it is decoded from its end.
    let codings = encoding.split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
    let applied = codings.filter { !$0.isEmpty && $0 != "identity" }.reversed()
    let stages = try (applied.isEmpty ? ["identity"] : Array(applied)).map { coding in
      guard let stream = Self.stream(for: coding, dictionary) else {
        throw ContentError.unsupportedEncoding(url: url, encoding: coding)
      }
      return DecodingStage(stream: stream, coding: coding, url: url, limit: limit)
    }
    guard stages.count <= 3 else { throw ContentError.unsupportedEncoding(url: url, encoding: encoding) }
    return DecodingChain(stages: stages)
  }

  /// Returns the content compressed with gzip; `nil` if zlib fails.
  package func compress(_ content: [UInt8]) -> [UInt8]? { Gzip.compress(content) }

  private static func stream(for coding: String, _ dictionary: ContentDictionary?) -> (any DecodingStream)? {
    switch coding {
    case "gzip", "x-gzip": GzipStream()  // RFC 9110 §8.4.1.3: the two are equivalent
    case "br": BrotliStream()
    case "zstd": ZstdStream()
    case DictionaryZstd.token: dictionary.map { DictionaryZstdStream($0) }
    case "identity": IdentityStream()
    default: nil
    }
  }
}

/// A library's streaming decoder.
protocol DecodingStream: AnyObject {
  /// `true` if the encoded stream may end here.
  var isAtEnd: Bool { get }

  /// Decodes all of `input`, and passes the output to `emit` piece by piece.
  func decode(_ input: UnsafeRawBufferPointer, emit: (UnsafeRawBufferPointer) throws -> Void) throws
}

/// Passes bytes through without decoding, so that the limit also applies to them.
private final class IdentityStream: DecodingStream {
  let isAtEnd = true

  func decode(_ input: UnsafeRawBufferPointer, emit: (UnsafeRawBufferPointer) throws -> Void) throws {
    try emit(input)
  }
}

/// A fault of encoded data, in a library's words.
struct StreamFault: Error {
  let reason: String
}

private final class DecodingStage {
  private let stream: any DecodingStream
  private let coding: String
  private let url: String
  private let limit: Int64
  private var produced: Int64 = 0

  init(stream: any DecodingStream, coding: String, url: String, limit: Int64) {
    self.stream = stream
    self.coding = coding
    self.url = url
    self.limit = limit
  }

  func decode(_ chunk: [UInt8]) throws -> [UInt8] {
    var output: [UInt8] = []
    do {
      try chunk.withUnsafeBytes { input in
        try stream.decode(input) { piece in
          produced += Int64(piece.count)
          guard produced <= limit else { throw ContentError.tooLarge(url: url, limit: limit) }
          output.append(contentsOf: piece)
        }
      }
    } catch let fault as StreamFault {
      throw ContentError.corruptEncoding(url: url, encoding: coding, reason: fault.reason)
    }
    return output
  }

  func finish() throws {
    guard stream.isAtEnd else { throw ContentError.cutShort(url: url, encoding: coding) }
  }
}

private final class DecodingChain: BodyDecoding {
  private let stages: [DecodingStage]

  init(stages: [DecodingStage]) { self.stages = stages }

  func decode(_ chunk: [UInt8]) throws -> [UInt8] {
    try stages.reduce(chunk) { try $1.decode($0) }
  }

  func finish() throws {
    for stage in stages { try stage.finish() }
  }
}
