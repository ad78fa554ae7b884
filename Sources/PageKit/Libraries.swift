import Bundles
import CCrypto
import CurlTransport

/// The libraries that PageKit uses.
package enum Libraries {
  /// The name and version of each, as the library reports them.
  package static var versions: [String] {
    [
      CurlTransport.libraryVersion, String(cString: OpenSSL_version(OPENSSL_VERSION)),
      "SQLite \(BundleStore.databaseVersion)",
    ]
  }
}
