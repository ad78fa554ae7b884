import NIOSSL
import Synchronization

/// Holds the certificate and reads it again on request. Open connections keep theirs.
package final class TLSReloader: Sendable {
  private let current: Mutex<(files: TLSFiles, context: NIOSSLContext, validity: CertificateValidity)>

  /// - Throws: ``TLSFilesError``.
  package init(_ files: TLSFiles) throws {
    current = Mutex((files, try files.context(), try files.validity()))
  }

  /// For new connections.
  var context: NIOSSLContext { current.withLock { $0.context } }
  /// The validity of the certificate for new connections.
  package var validity: CertificateValidity { current.withLock { $0.validity } }

  /// Reads the files for new connections. If they cannot be used, the former certificate stays.
  ///
  /// - Parameter other: other files, which are read from now on; the same ones by default.
  /// - Throws: ``TLSFilesError``.
  package func reload(_ other: TLSFiles? = nil) throws {
    let files = other ?? current.withLock { $0.files }
    let (context, validity) = (try files.context(), try files.validity())
    current.withLock { $0 = (files, context, validity) }
  }
}
