import Foundation

enum StandardInput {
  /// The lines of standard input until its end, or until the reader's task is cancelled. Lines are cut off at 4,096
  /// bytes.
  ///
  /// A read from a terminal cannot be cancelled: it has a thread of its own, which ends with the process. The thread reads
  /// no more than 64 lines ahead.
  static func lines() -> AsyncStream<String> {
    let (lines, reader) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(64))
    Thread.detachNewThread {
      var (bytes, line) = ([UInt8](repeating: 0, count: 4_096), [UInt8]())
      while case let count = read(STDIN_FILENO, &bytes, bytes.count), count > 0 {
        for byte in bytes[..<count] {
          if byte != UInt8(ascii: "\n") {
            if line.count < bytes.count { line.append(byte) }
            continue
          }
          send(line, to: reader)
          line = []
        }
      }
      if !line.isEmpty { send(line, to: reader) }
      reader.finish()
    }
    return lines
  }

  private static func send(_ line: [UInt8], to reader: AsyncStream<String>.Continuation) {
    while case .dropped = reader.yield(String(decoding: line, as: UTF8.self)) { usleep(10_000) }
  }
}
