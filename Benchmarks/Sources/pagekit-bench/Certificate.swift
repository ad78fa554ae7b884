/// A certificate that signs itself, of an elliptic curve, as most sites have them.
struct Certificate {
  let certificate: String
  let key: String

  /// - Throws: ``Measurement/Failed`` if openssl(1) is not there.
  init(in folder: String) throws {
    (certificate, key) = (folder + "/certificate.pem", folder + "/key.pem")
    _ = try Measurement.run([
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
      "-subj", "/CN=127.0.0.1", "-keyout", key, "-out", certificate,
    ])
  }
}
