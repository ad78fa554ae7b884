import Foundation
import PageCore
import Synchronization
import SystemPackage

/// Bytes on their way into the response store: short ones wait in memory, longer ones in a file that others may read
/// while it grows.
final class ResponseSpool: ResponseWriting {
  /// Bytes that are not worth a file yet.
  private static let memoryLimit = 64 << 10

  private struct State: ~Copyable {
    var digester: Digester<SHA256Digest>
    var memory: [UInt8] = []
    var file: FileDescriptor?
    var count: Int64 = 0
  }

  private let state: Mutex<State>
  let path: FilePath

  init(in folder: FilePath) throws {
    path = folder.appending(UUID().uuidString)
    state = Mutex(State(digester: try Digester.sha256()))
  }

  deinit {
    state.withLock { state in
      guard let file = state.file else { return }
      FileSystem.remove(path)
      FileSystem.closeLocked(file)
    }
  }

  var count: Int64 { state.withLock { $0.count } }

  func append(_ bytes: [UInt8]) throws {
    try state.withLock { state in
      if state.file == nil, state.memory.count + bytes.count > Self.memoryLimit {
        var opened: FileDescriptor?
        try ResponseFiles.makingFolders(for: path) {
          opened = try FileSystem.open(
            path, .readWrite, options: [.create, .exclusiveCreate], permissions: [.ownerReadWrite])
        }
        guard let opened else { return }
        // Whoever cleans up sees that it is in use.
        flock(opened.rawValue, LOCK_EX | LOCK_NB)
        state.file = opened
        try FileSystem.writeAll(state.memory, to: opened, path: path)
        state.memory = []
      }
      if let file = state.file {
        try FileSystem.writeAll(bytes, to: file, path: path)
      } else {
        state.memory += bytes
      }
      state.digester.update(bytes)
      state.count += Int64(bytes.count)
    }
  }

  func read(at position: Int64, upTo limit: Int) throws -> [UInt8] {
    try state.withLock { state in
      guard position >= 0, position < state.count else { return [] }
      let wanted = Int(min(Int64(limit), state.count - position))
      guard let file = state.file else {
        return Array(state.memory[Int(position)..<(Int(position) + wanted)])
      }
      return try file.readChunk(at: position, count: wanted, path: path)
    }
  }

  /// The digest of all bytes so far; nothing may be appended after it.
  func finish() throws -> SHA256Digest {
    try state.withLock { try $0.digester.finish() }
  }

  /// Everything, where it is short enough to be in memory.
  var memory: [UInt8]? { state.withLock { $0.file == nil ? $0.memory : nil } }

  /// Its bytes have reached the disk when this returns.
  func synchronise() throws {
    try state.withLock { state in
      if let file = state.file { try FileSystem.synchronise(file, path: path) }
    }
  }

  /// Takes its name away; whoever reads it can go on.
  func discard() { FileSystem.remove(path) }
}

extension FileDescriptor {
  /// Exactly so many bytes from a position; fewer only at the file's end.
  func readChunk(at position: Int64, count: Int, path: FilePath) throws -> [UInt8] {
    do {
      return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        while filled < count {
          let target = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
          let read = try self.read(fromAbsoluteOffset: position + Int64(filled), into: target)
          if read == 0 { break }
          filled += read
        }
      }
    } catch let error as Errno {
      throw StoreError.notReadable(path: path.string, reason: error.description)
    }
  }
}
