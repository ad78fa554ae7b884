import HTTPTransport
import Testing

@testable import Releases

/// Numbers of files that others write: the largest ones of 64 bits, and those around the bounds.
struct OutsideNumberTests {
  private static let numbers: [Int64] = [
    .min, .min + 1, -1, 0, 1, Int64.sequenceLimit - 1, Int64.sequenceLimit, Int64.sequenceLimit + 1, .max - 1, .max,
  ]
  private static let sequences = 0...Int64.sequenceLimit
  private static let digest = String(repeating: "0", count: 64)

  private static func pointer(current: Int64 = 1, former: Int64 = 1, collections: Int64 = 0) -> [UInt8] {
    func release(_ sequence: Int64) -> String {
      """
      { "release": "r", "sequence": \(sequence), "publishedAt": "",
        "manifest": { "url": "m.json", "sha256": "\(digest)" } }
      """
    }
    return Array(
      """
      { "schema": 1, "current": \(release(current)), "former": [\(release(former))], "collections": \(collections) }
      """.utf8)
  }

  private static func isUsable(_ pointer: [UInt8]) -> Bool { (try? ReleasePointer(reading: pointer)) != nil }

  @Test("a pointer has sequences and collections that can be counted on", arguments: numbers)
  func pointer(_ number: Int64) throws {
    #expect(Self.isUsable(Self.pointer(current: number)) == Self.sequences.contains(number))
    #expect(Self.isUsable(Self.pointer(former: number)) == Self.sequences.contains(number))
    #expect(
      Self.isUsable(Self.pointer(collections: number)) == (0..<Int64.sequenceLimit).contains(number))
  }

  @Test("a manifest has a sequence that can be counted on, and sizes that can be summed", arguments: numbers)
  func manifest(_ number: Int64) {
    func read(_ sequence: Int64, size: Int64, _ limits: ManifestLimits = .standard) -> Manifest? {
      let entries = ["a", "b", "c"].map { name in
        """
        { "name": "\(name)", "path": "\(name).js", "md5": "00000000000000000000000000000000", "size": \(size) }
        """
      }
      let text = """
        { "schema": 1, "release": "r", "sequence": \(sequence), "bundles": [\(entries.joined(separator: ","))] }
        """
      return try? Manifest(reading: Array(text.utf8), limits: limits)
    }
    #expect((read(number, size: 1) != nil) == Self.sequences.contains(number))
    let unlimited = ManifestLimits(fileBytes: .max, releaseBytes: .max - 1)
    #expect((read(1, size: number, unlimited) != nil) == (number == 1))
    let follows = try? Manifest.sequence(after: number)
    #expect(follows == (number < Int64.sequenceLimit ? max(0, number) + 1 : nil))
  }

  @Test("a status has sequences that can be counted on", arguments: numbers)
  func status(_ number: Int64) {
    func read(_ sequence: Int64, of release: Int64) -> ReleaseStatus? {
      let text = """
        { "kind": "status", "sequence": \(sequence), "signed": "2027-01-01T00:00:00Z",
          "expires": "2027-01-02T00:00:00Z",
          "release": { "name": "r", "sequence": \(release), "sha256": "\(Self.digest)" } }
        """
      return try? ReleaseStatus(reading: Array(text.utf8))
    }
    #expect((read(number, of: 1) != nil) == (1...Int64.sequenceLimit).contains(number))
    #expect((read(1, of: number) != nil) == Self.sequences.contains(number))
  }
}
