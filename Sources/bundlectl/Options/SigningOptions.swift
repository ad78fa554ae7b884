import ArgumentParser
import CLinux
import Foundation
import PageKit
import PageWorkers
import Releases

/// The keys that sign.
struct SigningOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp("PEM file of a private key that signs. Repeatable.", valueName: "file"), completion: .file())
  var key: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A shell command that signs: for a key in a hardware module or an agent.",
      discussion: """
        Its input is the message. Its output is the signature, as 64 bytes or their base64. --public-key says which \
        key it has.
        """, valueName: "command"))
  var signWith: String?

  @Option(
    name: .long,
    help: ArgumentHelp("PEM file of the public key of --sign-with.", valueName: "file"), completion: .file())
  var publicKey: String?

  mutating func validate() throws {
    if (signWith == nil) != (publicKey == nil) {
      throw ValidationError("--sign-with and --public-key need each other.")
    }
  }

  static let noSigner = ValidationError("Name a key with --key, or a command that signs with --sign-with.")
}

extension SigningOptions {
  /// `true` if no key and no command signs.
  var isEmpty: Bool { key.isEmpty && signWith == nil }

  /// The public keys of all who sign.
  ///
  /// - Throws: ``DescribedError``.
  func verificationKeys() throws -> [VerificationKey] {
    try (key + [publicKey].compactMap(\.self)).map(KeyFile.verificationKey)
  }

  /// Signs a message with the first key.
  ///
  /// - Throws: ``DescribedError``, `KeyError`.
  func signature(over message: [UInt8]) async throws -> [UInt8] {
    if let path = key.first { return try KeyFile.signingKey(path).signature(over: message) }
    guard let signWith, let publicKey else { throw Self.noSigner }
    return try await SigningCommand(signWith, key: try KeyFile.verificationKey(publicKey)).signature(over: message)
  }

  /// Adds signatures of a file to those beside it. Signatures of other bytes are dropped.
  ///
  /// - Returns: the keys that have signed now.
  /// - Throws: ``DescribedError``.
  func sign(_ content: [UInt8], as kind: SignedKind, at path: String) async throws -> [VerificationKey] {
    var file = try SignatureFile(of: content, as: kind)
    if let known = try SignatureFile(beside: path), known.kind == kind, known.content == file.content { file = known }
    let signed = try await sign(content, as: kind, in: &file)
    try OutputFile.write(Data(try file.encoded()), to: path + SignatureFile.suffix)
    return signed
  }

  /// Adds signatures of bytes.
  ///
  /// - Returns: the keys that have signed now.
  /// - Throws: ``DescribedError``, `KeyError`.
  func sign(
    _ content: [UInt8], as kind: SignedKind, in file: inout SignatureFile
  ) async throws -> [VerificationKey] {
    var signed: [VerificationKey] = []
    for path in self.key {
      let key = try KeyFile.signingKey(path)
      file.add(try key.sign(content, as: kind))
      signed.append(key.verificationKey)
    }
    if let signWith, let publicKey {
      let key = try KeyFile.verificationKey(publicKey)
      file.add(try await SigningCommand(signWith, key: key).sign(content, as: kind))
      signed.append(key)
    }
    return signed
  }
}

extension SignatureFile {
  /// The signatures of a file; `nil` if there are none.
  ///
  /// - Throws: ``DescribedError``.
  init?(beside path: String) throws {
    let path = path + Self.suffix
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    self = try InputFile.read(path) { try SignatureFile(reading: $0) }
  }
}

/// PEM files with keys.
enum KeyFile {
  /// Reads a private key, of a file that only its owner may read.
  ///
  /// - Throws: ``DescribedError``.
  static func signingKey(_ path: String) throws -> SigningKey {
    let bytes = try read(path)
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 {
      let mode = String(status.st_mode & 0o777, radix: 8)
      throw DescribedError("others may read the private key \(path) (mode \(mode)): run \"chmod 600 \(path)\"")
    }
    return try named(path) { try SigningKey(pem: bytes) }
  }

  /// Reads a public key, or the public part of a private one.
  ///
  /// - Throws: ``DescribedError``.
  static func verificationKey(_ path: String) throws -> VerificationKey {
    let bytes = try read(path)
    return try named(path) { try VerificationKey(pem: bytes) }
  }

  /// Returns `true` if a file has a private key.
  static func isPrivate(_ path: String) -> Bool { (try? read(path)).map { (try? SigningKey(pem: $0)) != nil } ?? false }

  /// Writes a new file that its owner alone may read. An existing one is not replaced.
  ///
  /// - Throws: ``DescribedError``.
  static func write(_ key: SigningKey, to path: String) throws {
    let text = try named(path) { try key.pem() }
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw DescribedError(
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
      throw DescribedError("\(path) cannot be written: \(error.plainReason)")
    }
  }

  private static func read(_ path: String) throws -> [UInt8] {
    guard let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: 64 << 10) else {
      throw DescribedError("\(path) cannot be read")
    }
    return Array(data)
  }

  private static func named<Value>(_ path: String, _ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as KeyError { throw DescribedError("\(path): \(error.message)") }
  }
}
