import Foundation
import Testing

/// The shipped unit, on machines with systemd's tools.
struct ServiceUnitTests {
  private static let unit = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../deploy/renderhost.service").standardizedFileURL.path

  @Test(
    "the systemd unit is hardened",
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze")))
  func hardening() async throws {
    let judged = try await Tool.run("systemd-analyze", "security", "--offline=true", "--threshold=25", Self.unit)
    #expect(judged.status == 0, "\(judged.output.suffix(300))")
    #expect(!judged.error.contains("Unknown") && !judged.error.contains("Failed to parse"), "\(judged.error)")
  }
}
