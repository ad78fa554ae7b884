import Foundation
import PageKit
import Signing

/// PEM files with keys.
enum KeyFile {
  /// Reads a private key, of a file that nobody else may read.
  ///
  /// - Throws: ``CommandError``.
  static func signingKey(_ path: String) throws -> SigningKey {
    let bytes = try read(path)
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 {
      let mode = String(status.st_mode & 0o777, radix: 8)
      throw CommandError("others may read the private key \(path) (mode \(mode)): run \"chmod 600 \(path)\"")
    }
    return try named(path) { try SigningKey(pem: bytes) }
  }

  /// Reads a public key, or the public part of a private one.
  ///
  /// - Throws: ``CommandError``.
  static func verificationKey(_ path: String) throws -> VerificationKey {
    let bytes = try read(path)
    return try named(path) { try VerificationKey(pem: bytes) }
  }

  /// Returns `true` if a file has a private key.
  static func isPrivate(_ path: String) -> Bool { (try? read(path)).map { (try? SigningKey(pem: $0)) != nil } ?? false }

  /// Writes a new file that its owner alone may read. An existing one is not replaced.
  ///
  /// - Throws: ``CommandError``.
  static func write(_ key: SigningKey, to path: String) throws {
    let text = try named(path) { try key.pem() }
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw CommandError(
        errno == EEXIST
          ? "\(path) exists, and a key is not overwritten: choose another name"
          : "\(path) cannot be written: \(String(cString: strerror(errno)))")
    }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    do {
      try file.write(contentsOf: Data(text.utf8))
      try file.synchronize()
    } catch {
      unlink(path)
      throw CommandError("\(path) cannot be written: \(error.plainReason)")
    }
  }

  private static func read(_ path: String) throws -> [UInt8] {
    guard let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: 64 << 10) else {
      throw CommandError("\(path) cannot be read")
    }
    return Array(data)
  }

  private static func named<Value>(_ path: String, _ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as KeyError { throw CommandError("\(path): \(error)") }
  }
}
