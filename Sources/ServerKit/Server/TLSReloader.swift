import NIOSSL
import Synchronization

/// Holds the certificate and reads it again on request. Open connections keep theirs.
package final class TLSReloader: Sendable {
  private let files: TLSFiles
  private let current: Mutex<NIOSSLContext>

  /// - Throws: ``TLSFilesError``.
  package init(_ files: TLSFiles) throws {
    self.files = files
    current = Mutex(try files.context())
  }

  /// For new connections.
  var context: NIOSSLContext { current.withLock { $0 } }

  /// Reads the files for new connections. If they cannot be used, the former certificate stays.
  ///
  /// - Throws: ``TLSFilesError``.
  package func reload() throws {
    let context = try files.context()
    current.withLock { $0 = context }
  }
}
