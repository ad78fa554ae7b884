import PageTesting
import Testing

@testable import RenderHost
@testable import ServerKit

extension TLSFiles {
  /// A certificate that names `name`, and its key.
  static func made(_ name: String, in folder: TemporaryDirectory) async throws -> TLSFiles {
    let files = TLSFiles(certificate: folder.file("\(name).crt"), privateKey: folder.file("\(name).key"))
    let made = try await Tool.run(
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-subj", "/CN=\(name)", "-keyout", files.privateKey, "-out", files.certificate)
    try #require(made.status == 0, "\(made.error)")
    return files
  }
}
