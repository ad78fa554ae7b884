import Foundation

/// A reader of input from outside, as libFuzzer calls it: over and over, with bytes that it makes up.
protocol Fuzzer: SendableMetatype {
  /// The word by which `scripts/fuzz` names it.
  static var name: String { get }
  /// Inputs to begin with: what the reader accepts, and some of what it has to refuse.
  static var seeds: [[UInt8]] { get }
  /// The most bytes of an input.
  static var lengthLimit: Int { get }

  /// Reads an input, and holds what was read to what was promised of it.
  static func read(_ bytes: [UInt8])
}

extension Fuzzer {
  static var lengthLimit: Int { 4096 }
}

/// Ends the process where a promise is broken: libFuzzer keeps the input.
func hold(_ isHeld: Bool, _ promise: @autoclosure () -> String) {
  guard !isHeld else { return }
  FileHandle.standardError.write(Data("broken promise: \(promise())\n".utf8))
  abort()
}

/// All readers.
let fuzzers: [any Fuzzer.Type] = [
  JSONFuzzer.self, ManifestFuzzer.self, RequestHeadFuzzer.self, FrameFuzzer.self, CacheMetadataFuzzer.self,
  SourceMapFuzzer.self, SignedFilesFuzzer.self,
]
