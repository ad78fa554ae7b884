// `Fuzzing NAME [OPTION…] CORPUS` lets libFuzzer make up inputs for one reader; `Fuzzing --seeds NAME FOLDER` writes
// those it begins with; `Fuzzing --names` lists the readers. `make fuzz` does it all.
import Foundation

typealias Read = @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt

@_silgen_name("LLVMFuzzerRunDriver")
func runDriver(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>, _ read: Read
) -> CInt

/// The one that was chosen: what C calls can capture nothing.
nonisolated(unsafe) var chosen: any Fuzzer.Type = JSONFuzzer.self

@MainActor func fuzzer(_ name: String?) -> any Fuzzer.Type {
  guard let found = fuzzers.first(where: { $0.name == name }) else {
    FileHandle.standardError.write(Data("the readers are \(fuzzers.map { $0.name }.joined(separator: ", "))\n".utf8))
    exit(2)
  }
  return found
}

let arguments = CommandLine.arguments
switch arguments.dropFirst().first {
case "--names":
  for fuzzer in fuzzers { print(fuzzer.name) }
case "--seeds" where arguments.count == 4:
  for (index, seed) in fuzzer(arguments[2]).seeds.enumerated() {
    try Data(seed).write(to: URL(fileURLWithPath: "\(arguments[3])/seed-\(index)"))
  }
case let name:
  chosen = fuzzer(name)
  var own = ([arguments[0]] + arguments.dropFirst(2) + ["-max_len=\(chosen.lengthLimit)"]).map { strdup($0) } + [nil]
  var count = CInt(own.count - 1)
  own.withUnsafeMutableBufferPointer { buffer in
    guard var start = buffer.baseAddress else { return }
    exit(
      runDriver(&count, &start) { bytes, count in
        chosen.read(Array(UnsafeBufferPointer(start: bytes, count: count)))
        return 0
      })
  }
}
