import NIOSSL
import Synchronization

/// Holds the certificate and reads it again on request. Open connections keep theirs.
package final class TLSReloader: Sendable {
  private let files: TLSFiles
  private let current: Mutex<(context: NIOSSLContext, validity: CertificateValidity)>

  /// - Throws: ``TLSFilesError``.
  package init(_ files: TLSFiles) throws {
    self.files = files
    current = Mutex((try files.context(), try files.validity()))
  }

  /// For new connections.
  var context: NIOSSLContext { current.withLock { $0.context } }
  /// The validity of the certificate for new connections.
  package var validity: CertificateValidity { current.withLock { $0.validity } }

  /// Reads the files for new connections. If they cannot be used, the former certificate stays.
  ///
  /// - Throws: ``TLSFilesError``.
  package func reload() throws {
    let (context, validity) = (try files.context(), try files.validity())
    current.withLock { $0 = (context, validity) }
  }
}
