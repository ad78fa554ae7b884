import Blobs
import Foundation
import HTTPTransport
import Synchronization
import SystemPackage

/// Bytes on their way into the response store: short ones wait in memory, longer ones in a file that others may read
/// while it grows.
final class ResponseSpool: ResponseWriting {
  /// Bytes that are not worth a file yet.
  private static let memoryLimit = 64 << 10

  private struct State: ~Copyable {
    var digester: Digester<SHA256Digest>
    var digest: SHA256Digest?
    var memory: [UInt8] = []
    var file: FileDescriptor?
    var count: Int64 = 0
  }

  private let state: Mutex<State>
  let path: StorePath

  init(in folder: StorePath) throws {
    path = folder.appending(Hex.encode(UniqueNumber.next()))
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
      guard state.digest == nil else {
        throw StoreError.notWritable(path: path.string, reason: "a response that was stored cannot grow")
      }
      if state.file == nil, state.memory.count + bytes.count > Self.memoryLimit {
        state.file = try opened(with: state.memory)
        state.memory = []
      }
      if let file = state.file {
        // At its place, whatever an append that failed has left there.
        try write(bytes, at: state.count, to: file)
      } else {
        state.memory += bytes
      }
      state.digester.update(bytes)
      state.count += Int64(bytes.count)
    }
  }

  private func opened(with bytes: [UInt8]) throws -> FileDescriptor {
    var opened: FileDescriptor?
    repeat {
      try ResponseFiles.makingFolders(for: path) {
        opened = try FileSystem.open(
          path, .readWrite, options: [.create, .exclusiveCreate], permissions: [.ownerReadWrite])
      }
      guard let file = opened else { continue }
      // Whoever cleans up sees that it is in use; unless it was removed before that could be said.
      flock(file.rawValue, LOCK_EX | LOCK_NB)
      if FileSystem.status(path) == nil {
        FileSystem.closeLocked(file)
        opened = nil
      }
    } while opened == nil
    guard let file = opened else { throw StoreError.notWritable(path: path.string, reason: "it was not opened") }
    do {
      try write(bytes, at: 0, to: file)
      return file
    } catch {
      FileSystem.remove(path)
      FileSystem.closeLocked(file)
      throw error
    }
  }

  private func write(_ bytes: [UInt8], at position: Int64, to file: FileDescriptor) throws {
    do {
      try file.writeAll(toAbsoluteOffset: position, bytes)
    } catch let error as Errno {
      throw FileSystem.writeError(error, path)
    }
  }

  func read(at position: Int64, upTo limit: Int) throws -> [UInt8] {
    try state.withLock { state in
      guard position >= 0, position < state.count, limit > 0 else { return [] }
      let wanted = Int(min(Int64(limit), state.count - position))
      guard let file = state.file else {
        return Array(state.memory[Int(position)..<(Int(position) + wanted)])
      }
      do {
        return try file.readChunk(at: position, count: wanted)
      } catch let error as Errno {
        throw StoreError.notReadable(path: path.string, reason: error.description)
      }
    }
  }

  /// The digest of all bytes; nothing can be appended after it.
  func finish() throws -> SHA256Digest {
    try state.withLock { state in
      if let digest = state.digest { return digest }
      let digest = try state.digester.finish()
      state.digest = digest
      return digest
    }
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
  func discard() {
    let hasFile = state.withLock { $0.file != nil }
    if hasFile { FileSystem.remove(path) }
  }
}
