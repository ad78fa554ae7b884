import Bundles
import HTTPTransport
import Releases

/// The small files and texts of publishers and installs: roots, statuses, signature files, tokens and reports.
enum SignedFilesFuzzer: Fuzzer {
  static let name = "signed-files"
  static let seeds = [
    #"{"kind":"status","sequence":7,"signed":"2027-01-01T00:00:00Z","expires":"2027-01-08T00:00:00Z","release":{"name":"r5","sequence":5,"sha256":"\#(digest)"},"disabled":[{"bundle":"pay","message":"Later."}],"rollbackTo":{"sequence":4,"sha256":"\#(digest)"},"halted":true}"#,
    #"{"type":"application/vnd.pagekit.manifest+json","sha256":"\#(digest)","signatures":[{"keyid":"\#(digest)","sig":"AAAA"}]}"#,
    #"{"kind":"root","version":1,"expires":"2030-01-01T00:00:00Z","keys":{"\#(digest)":{"type":"ed25519","public":"AAAA"}},"roles":{"root":{"keys":["\#(digest)"],"threshold":1}}}"#,
    #"{"release":"r5","sequence":5,"contents":"\#(digest)","standing":"bad","failures":2,"failure":{"kind":"exception","page":"p","message":"m"}}"#,
    "eyJhbGciOiJFZERTQSJ9.eyJhdWQiOiJwYWdla2l0LXJlcG9ydHMiLCJzdWIiOiJhIiwiZXhwIjoxfQ.AAAA",
  ].map { Array($0.utf8) }

  private static let digest = String(repeating: "ab", count: 32)
  private static let now = SignedTime(seconds: 1_800_000_000)

  static func read(_ bytes: [UInt8]) {
    if let status = try? ReleaseStatus(reading: bytes) {
      hold((try? ReleaseStatus(reading: status.encoded())) == status, "a status that was written reads the same")
    }
    if let root = try? TrustRoot(reading: bytes) {
      hold((try? TrustRoot(reading: root.encoded())) == root, "a root that was written reads the same")
    }
    if let file = try? SignatureFile(reading: bytes) {
      hold((try? SignatureFile(reading: file.encoded())) == file, "signatures that were written read the same")
    }
    if let report = try? ReleaseReport(reading: bytes) {
      hold((try? ReleaseReport(reading: report.encoded())) == report, "a report that was written reads the same")
    }
    _ = try? ReportToken(String(decoding: bytes, as: UTF8.self), signedBy: [], at: now)
  }
}
