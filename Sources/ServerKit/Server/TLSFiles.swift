import Foundation
import NIOSSL
import Synchronization

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

  /// The suites of TLS 1.2: RFC 9113 §9.2.2 forbids HTTP/2 all others, and without an ephemeral key whoever gets the
  /// private key can read what was recorded. Those of TLS 1.3 cannot be chosen.
  private static let suites: [NIOTLSCipher] = [
    .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
  ]

  private func chain() throws -> [NIOSSLCertificate] {
    let chain: [NIOSSLCertificate]
    do { chain = try NIOSSLCertificate.fromPEMFile(certificate) } catch {
      throw SettingsError.combination("--tls-cert: \(certificate) is not a PEM file with a certificate")
    }
    guard !chain.isEmpty else {
      throw SettingsError.combination("--tls-cert: \(certificate) has no certificate")
    }
    return chain
  }

  /// The time in which the certificate and those of its chain are all valid.
  ///
  /// - Throws: ``SettingsError/combination(_:)``.
  package func validity() throws -> CertificateValidity {
    let chain = try chain()
    func date(_ time: time_t) -> Date { Date(timeIntervalSince1970: Double(time)) }
    return CertificateValidity(
      file: certificate, from: chain.map { date($0.notValidBefore) }.max() ?? .distantPast,
      until: chain.map { date($0.notValidAfter) }.min() ?? .distantFuture)
  }

  /// Reads both files and checks that they belong together.
  ///
  /// - Throws: ``SettingsError/combination(_:)``.
  package func context() throws -> NIOSSLContext {
    let chain = try chain()
    let key: NIOSSLPrivateKey
    do { key = try NIOSSLPrivateKey(file: privateKey, format: .pem) } catch {
      throw SettingsError.combination("--tls-key: \(privateKey) is not a PEM file with a private key")
    }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    // RFC 8996: TLS 1.0 and 1.1 must not be used.
    configuration.minimumTLSVersion = .tlsv12
    configuration.cipherSuiteValues = Self.suites
    configuration.applicationProtocols = SecureChannel.protocols
    do { return try NIOSSLContext(configuration: configuration) } catch {
      throw SettingsError.combination("--tls-key: \(privateKey) does not belong to \(certificate)")
    }
  }
}

/// The time in which a certificate is valid.
package struct CertificateValidity: Codable, Equatable, Sendable {
  package let file: String
  package let from: Date
  package let until: Date
  /// The reason why clients refuse the certificate, at the time for which the status is told; `nil` if they do not.
  package var problem: String?

  package init(file: String, from: Date, until: Date) { (self.file, self.from, self.until) = (file, from, until) }

  /// Says in one sentence that clients refuse the certificate now; `nil` if it is valid.
  package func problem(at now: Date) -> String? {
    if now > until { return "--tls-cert: \(file) has expired on \(until.formatted(.iso8601)): clients refuse it" }
    if now < from { return "--tls-cert: \(file) is not valid before \(from.formatted(.iso8601)): clients refuse it" }
    return nil
  }
}

/// Holds the certificate and reads it again on request. Open connections keep theirs.
package final class TLSReloader: Sendable {
  private let current: Mutex<(files: TLSFiles, context: NIOSSLContext, validity: CertificateValidity)>

  /// - Throws: ``SettingsError/combination(_:)``.
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
  /// - Throws: ``SettingsError/combination(_:)``.
  package func reload(_ other: TLSFiles? = nil) throws {
    let files = other ?? current.withLock { $0.files }
    let (context, validity) = (try files.context(), try files.validity())
    current.withLock { $0 = (files, context, validity) }
  }
}
