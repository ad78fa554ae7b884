import Foundation
import PageKit

/// A file that an answer is written to.
enum OutputFile {
  /// Writes into what is there, a link's target or a pipe too; what it held stays until the first bytes have come.
  static func write(_ body: LoadedBody, to path: String) async throws {
    var chunks = body.makeAsyncIterator()
    var chunk = try await chunks.next()
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw failure(path) }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    // Not for pipes and devices, which have no length.
    _ = ftruncate(descriptor, 0)
    while let bytes = chunk {
      do {
        try file.write(contentsOf: Data(bytes))
      } catch {
        throw failure(path)
      }
      chunk = try await chunks.next()
    }
    try? file.close()
  }

  /// Whole or not at all where a plain file is or will be; into what is there otherwise: a link, a pipe, a device.
  static func write(_ data: Data, to path: String) throws {
    var status = stat()
    let isPlain = lstat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
    do {
      if isPlain {
        try data.write(to: URL(fileURLWithPath: path), options: .atomic)
      } else {
        guard let file = FileHandle(forWritingAtPath: path) else { throw failure(path) }
        _ = ftruncate(file.fileDescriptor, 0)
        try file.write(contentsOf: data)
        try file.close()
      }
    } catch let error as CommandError {
      throw error
    } catch {
      throw failure(path)
    }
  }

  private static func failure(_ path: String) -> CommandError {
    CommandError("\(path) cannot be written: \(String(cString: strerror(errno)))")
  }
}
