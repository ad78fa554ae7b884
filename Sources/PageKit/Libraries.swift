import Bundles
import CCrypto
import CurlTransport

/// The libraries PageKit runs with.
package enum Libraries {
  /// Name and version of each, as it reports them itself.
  package static var versions: [String] {
    [
      CurlTransport.libraryVersion, String(cString: OpenSSL_version(OPENSSL_VERSION)),
      "SQLite \(BundleStore.databaseVersion)",
    ]
  }
}
