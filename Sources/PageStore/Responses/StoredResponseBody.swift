import HTTPCaching
import PageCore
import SystemPackage

/// The bytes of a stored response, read from its file after they were checked against their digest.
final class StoredResponseBody: StoredBody {
  let count: Int64
  private let start: Int64
  private let file: FileDescriptor
  private let path: FilePath
  /// Short ones are read once.
  private let memory: [UInt8]?

  private static let memoryLimit: Int64 = 256 << 10
  private static let pieceSize = 256 << 10

  /// - Throws: where the file is missing, or its bytes are not those that were stored.
  init(_ entry: ResponseEntry, in files: ResponseFiles) throws {
    count = entry.head.extent.count
    let separate = files.body(entry.digest)
    let isSeparate = count > ResponseStore.inlineLimit
    path = isSeparate ? separate : files.entry(entry.id)
    file = try FileSystem.open(path, .readOnly)
    do {
      if isSeparate {
        start = 0
      } else {
        let head = try file.readChunk(at: 0, count: ResponseFront.headSize(0), path: path)
        guard let length = ResponseFront.frontLength(head) else { throw Self.changed(path) }
        start = Int64(ResponseFront.headSize(length))
      }
      var digester = try Digester.sha256()
      if count <= Self.memoryLimit {
        let bytes = try file.readChunk(at: start, count: Int(count), path: path)
        digester.update(bytes)
        memory = bytes
      } else {
        var position: Int64 = 0
        while position < count {
          let wanted = Int(min(Int64(Self.pieceSize), count - position))
          let piece = try file.readChunk(at: start + position, count: wanted, path: path)
          if piece.isEmpty { break }
          digester.update(piece)
          position += Int64(piece.count)
        }
        memory = nil
      }
      guard try digester.finish() == entry.digest else { throw Self.changed(path) }
    } catch {
      try? file.close()
      throw error
    }
  }

  deinit { try? file.close() }

  private static func changed(_ path: FilePath) -> StoreError {
    .notReadable(path: path.string, reason: "its bytes are not those that were stored")
  }

  func read(at position: Int64, upTo limit: Int) throws -> [UInt8] {
    guard position >= 0, position < count else { return [] }
    let wanted = Int(min(Int64(limit), count - position))
    if let memory {
      let first = Int(position)
      return first == 0 && wanted == memory.count ? memory : Array(memory[first..<(first + wanted)])
    }
    let bytes = try file.readChunk(at: start + position, count: wanted, path: path)
    guard bytes.count == wanted else { throw Self.changed(path) }
    return bytes
  }
}
