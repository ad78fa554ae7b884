import Foundation
import HTTPTransport

/// The result of a release's trial on one install, as it is sent to the publisher.
///
/// ```json
/// { "release": "r5", "sequence": 5, "contents": "SHA-256", "standing": "bad", "failures": 2,
///   "failure": { "kind": "exception", "page": "https://…/home.js", "message": "…" } }
/// ```
package struct ReleaseReport: Hashable, Sendable, Codable {
  /// The release's name in its manifest.
  package let release: String
  package let sequence: Int64
  /// The SHA-256 of the list of its bundles and files with their MD5s: ``SHA256Digest/init(ofContents:)``.
  package let contents: SHA256Digest
  /// Good or bad.
  package let standing: ReleaseStanding
  /// The number of failed openings.
  package let failures: Int
  /// The latest failure; `nil` for a good release.
  package let failure: TrialFailure?

  package init(
    release: String, sequence: Int64, contents: SHA256Digest, standing: ReleaseStanding, failures: Int = 0,
    failure: TrialFailure? = nil
  ) {
    (self.release, self.sequence, self.contents) = (release, sequence, contents)
    (self.standing, self.failures) = (standing, failures)
    // What follows the path may be the user's.
    self.failure = failure.map {
      TrialFailure($0.kind, page: String($0.page.prefix { $0 != "?" && $0 != "#" }), message: $0.message)
    }
  }

  /// The size of a report in bytes; a longer one is refused.
  package static let byteLimit = 32 << 10

  /// Reads a report.
  ///
  /// - Throws: ``ReleaseReportError``.
  package init(reading bytes: [UInt8]) throws {
    let value: JSONValue
    do {
      value = try JSONValue(reading: bytes, limits: .standard)
    } catch {
      throw ReleaseReportError(reason: error.jsonReason)
    }
    if case .object(let members) = value, case .string(let name)? = members["standing"],
      !["good", "bad"].contains(name)
    {
      throw ReleaseReportError(reason: "standing: expected \"good\" or \"bad\", found \(name.quotedForMessage)")
    }
    do {
      self = try value.decoded()
    } catch {
      throw ReleaseReportError(reason: error.jsonReason)
    }
  }

  /// The report's bytes.
  package func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self))
  }
}

/// The reason why bytes are no report.
package struct ReleaseReportError: Error, Hashable, CustomStringConvertible {
  package let reason: String

  package var description: String { "this is no report of a release: \(reason)" }
}

extension SHA256Digest {
  /// The identity of a release: the SHA-256 of a line for each entry, in the order of kinds, names and MD5s as bytes.
  ///
  /// Another name, sequence or signature makes no other release of it.
  package init(ofContents entries: some Sequence<(kind: String, name: String, md5: MD5Digest)>) throws {
    var digester = try Digester.sha256()
    let sorted = entries.sorted { left, right in
      if left.kind != right.kind { return left.kind.utf8.lexicographicallyPrecedes(right.kind.utf8) }
      if !left.name.utf8.elementsEqual(right.name.utf8) {
        return left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
      }
      return left.md5.bytes.lexicographicallyPrecedes(right.md5.bytes)
    }
    for entry in sorted {
      digester.update(Array("\(entry.kind) \(entry.name.utf8.count) \(entry.name) \(entry.md5.hex)\n".utf8))
    }
    self = try digester.finish()
  }
}
