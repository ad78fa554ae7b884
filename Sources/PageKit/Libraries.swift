import Bundles
import CCrypto
import CurlTransport

/// The libraries PageKit runs with.
public enum Libraries {
  /// Name and version of each, as it reports them itself.
  public static var versions: [String] {
    [
      CurlTransport.libraryVersion, String(cString: OpenSSL_version(OPENSSL_VERSION)),
      "SQLite \(BundleStore.databaseVersion)",
    ]
  }
}
