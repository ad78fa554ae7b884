import Foundation
import HTTPTransport
import Synchronization

/// A file that a page is recorded into, as it goes on.
package final class RecordingFile: Sendable {
  package let path: String
  private let descriptor: Int32
  private let state = Mutex<(length: Int, failure: String?)>((0, nil))

  /// Makes the file. Only its owner may read it: it has what the page was told.
  ///
  /// - Parameter replaces: `true` to empty a file that is there.
  /// - Throws: ``DescribedError`` if it cannot be written; ``RecordingFileError/exists`` if it is there, and is not to be
  ///   replaced.
  package init(_ path: String, replacing replaces: Bool = true) throws {
    self.path = path
    descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (replaces ? O_TRUNC : O_EXCL), 0o600)
    guard descriptor >= 0 else {
      if !replaces, errno == EEXIST { throw RecordingFileError.exists }
      throw DescribedError("\(path) cannot be written: \(String(cString: strerror(errno)))")
    }
  }

  deinit { close(descriptor) }

  /// Appends bytes. After an error nothing is written any more.
  package func append(_ bytes: [UInt8]) {
    state.withLock { state in
      guard state.failure == nil else { return }
      state.length += bytes.count
      // The page's process ends a recording before that, unless it was taken over.
      guard state.length <= Recording.fileLimit else {
        return state.failure = "it has more than \(Recording.fileLimit) bytes, which is the limit"
      }
      var rest = bytes[...]
      while !rest.isEmpty {
        let written = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if written < 0, errno == EINTR { continue }
        guard written > 0 else { return state.failure = String(cString: strerror(errno)) }
        rest = rest.dropFirst(written)
      }
    }
  }

  /// - Throws: ``DescribedError`` if something could not be written.
  package func finish() throws {
    if let failure = state.withLock(\.failure) { throw DescribedError("\(path) cannot be written: \(failure)") }
  }
}

/// The error of a file that is not to be replaced.
package enum RecordingFileError: Error {
  case exists
}
