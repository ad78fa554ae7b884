import Foundation
import HTTPTransport
import PageTesting

package enum JSON {
  package static func encode(_ value: some Encodable) throws -> [UInt8] { Array(try JSONEncoder().encode(value)) }
}

package enum Files {
  package static func write(_ text: String, to path: String) throws {
    let url = URL(fileURLWithPath: path)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }

  package static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  package static func flipFirstByte(_ path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    defer { try? file.close() }
    let first = try file.read(upToCount: 1)?.first ?? 0
    try file.seek(toOffset: 0)
    try file.write(contentsOf: [first ^ 1])
  }
}

/// A text with a low compression ratio.
package enum SeededText {
  package static func make(bytes: Int) -> String {
    var generator = SeededGenerator(seed: 7)
    return "// " + (0..<bytes / 16).map { _ in String(generator.next(), radix: 16) }.joined()
  }
}

/// Encodes with the `gzip` command, so that the decoder is not tested against itself.
package enum Gzip {
  package static func encode(_ text: String) throws -> [UInt8] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["gzip", "-nc"]
    let (input, output) = (Pipe(), Pipe())
    (process.standardInput, process.standardOutput) = (input, output)
    try process.run()
    let writer = input.fileHandleForWriting
    Thread.detachNewThread {
      try? writer.write(contentsOf: Data(text.utf8))
      try? writer.close()
    }
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return Array(data)
  }
}
