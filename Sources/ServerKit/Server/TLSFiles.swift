import NIOSSL

/// The PEM files of a server: its certificate with the chain, and its key.
package struct TLSFiles: Sendable {
  package let certificate: String
  package let privateKey: String

  package init(
    certificate: String, privateKey: String
  ) {
    self.certificate = certificate
    self.privateKey = privateKey
  }

  /// Reads both files and checks that they belong together.
  ///
  /// - Throws: ``TLSFilesError``.
  package func context() throws -> NIOSSLContext {
    let chain: [NIOSSLCertificate]
    do { chain = try NIOSSLCertificate.fromPEMFile(certificate) } catch {
      throw TLSFilesError(flag: "--tls-cert", file: certificate, reason: "is not a PEM file with a certificate")
    }
    guard !chain.isEmpty else {
      throw TLSFilesError(flag: "--tls-cert", file: certificate, reason: "has no certificate")
    }
    let key: NIOSSLPrivateKey
    do { key = try NIOSSLPrivateKey(file: privateKey, format: .pem) } catch {
      throw TLSFilesError(flag: "--tls-key", file: privateKey, reason: "is not a PEM file with a private key")
    }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    // RFC 8996: TLS 1.0 and 1.1 must not be used.
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = SecureChannel.protocols
    do { return try NIOSSLContext(configuration: configuration) } catch {
      throw TLSFilesError(flag: "--tls-key", file: privateKey, reason: "does not belong to \(certificate)")
    }
  }
}

/// A certificate or a key that cannot be used.
struct TLSFilesError: Error, CustomStringConvertible {
  let flag: String
  let file: String
  let reason: String

  var description: String { "\(flag): \(file) \(reason)" }
}
