import Foundation
import HTTPTransport
import Testing

@testable import Releases

struct TrustRootTests {
  private let keys: [SigningKey]
  private let root: TrustRoot

  init() throws {
    keys = try (0..<5).map { _ in try SigningKey() }
    root = Self.root(1, keys[0..<3], 2, release: keys[3..<4])
  }

  private static func root(
    _ version: Int64, _ rootKeys: some Collection<SigningKey>, _ threshold: Int, release: some Collection<SigningKey>
  ) -> TrustRoot {
    TrustRoot(
      version: version, expires: SignedTime(seconds: 1000),
      roles: [
        .root: (rootKeys.map(\.verificationKey), threshold), .release: (release.map(\.verificationKey), 1),
      ])
  }

  private func signed(_ content: [UInt8], by numbers: [Int], as kind: SignedKind = .root) throws -> SignatureFile {
    var file = try SignatureFile(of: content, as: kind)
    for number in numbers {
      let key = keys[number]
      file.add(try key.sign(content, as: kind))
    }
    return file
  }

  @Test("a root that is written and read is the same")
  func writing() throws {
    #expect(try TrustRoot(reading: root.encoded()) == root)
  }

  @Test(
    "content is trusted if as many keys of the role have signed as its threshold says",
    arguments: [
      ([3], nil), ([3, 0], nil), ([], TrustError.unsigned(.manifest)),
      ([0, 1, 2], .wronglySigned(.manifest, valid: 0, threshold: 1)),
      ([4], .wronglySigned(.manifest, valid: 0, threshold: 1)),
    ])
  func roles(_ signers: [Int], _ error: TrustError?) throws {
    let content = Array("content".utf8)
    let signatures = try signed(content, by: signers, as: .manifest)
    if let error {
      #expect(throws: error) { try root.check(content, signatures, by: .release, as: .manifest) }
    } else {
      try root.check(content, signatures, by: .release, as: .manifest)
    }
  }

  @Test(
    "the next root is trusted if the old one's and its own threshold of keys have signed",
    arguments: [
      // Of the keys 0, 1 and 2, two must sign: 2 is lost. 1, 3 and 4 are the next ones, of which two must sign.
      ([0, 1, 3], nil), ([0, 1, 3, 4], nil), ([1, 0], TrustError.wronglySigned(.root, valid: 1, threshold: 2)),
      ([0, 1], .wronglySigned(.root, valid: 1, threshold: 2)), ([1, 3], .wronglySigned(.root, valid: 1, threshold: 2)),
      ([3, 4], .wronglySigned(.root, valid: 0, threshold: 2)), ([], .unsigned(.root)),
    ])
  func successor(_ signers: [Int], _ error: TrustError?) throws {
    let next = Self.root(2, [keys[1], keys[3], keys[4]], 2, release: keys[3..<4])
    let content = try next.encoded()
    let signatures = try signed(content, by: signers)
    if let error {
      #expect(throws: error) { try root.successor(content, signatures) }
    } else {
      #expect(try root.successor(content, signatures) == next)
    }
  }

  @Test("a root that is not the next one is refused, also an older one", arguments: [1, 3] as [Int64])
  func versions(_ version: Int64) throws {
    let content = try Self.root(version, keys[0..<3], 2, release: keys[3..<4]).encoded()
    #expect(throws: TrustError.wrongRootVersion(expected: 2, found: version)) {
      try root.successor(content, try signed(content, by: [0, 1, 2]))
    }
  }

  @Test("an expired root is followed to the next, and not used")
  func expiry() throws {
    let content = try Self.root(2, keys[0..<3], 2, release: keys[3..<4]).encoded()
    #expect(try root.successor(content, try signed(content, by: [0, 1])).version == 2)
    try root.checkExpiry(at: SignedTime(seconds: 999))
    #expect(throws: TrustError.expiredRoot(version: 1, at: SignedTime(seconds: 1000))) {
      try root.checkExpiry(at: SignedTime(seconds: 1000))
    }
  }

  @Test(
    "a root that cannot be one is refused with the reason",
    arguments: [
      (#""version" : 1"#, #""version" : 0"#, "its version is 0"),
      (#""kind" : "root""#, #""kind" : "manifest""#, "its kind is \"manifest\""),
      (#""threshold" : 2"#, #""threshold" : 4"#, "its role \"root\" asks for 4 of 3 keys"),
      (#""threshold" : 2"#, #""threshold" : 0"#, "its role \"root\" asks for 0 of 3 keys"),
      (#""release" : {"#, #""other" : {"#, "it has no role \"release\""),
      ("1970-01-01T00:16:40Z", "tomorrow", "\"tomorrow\" is no time"),
      (#""roles""#, #""role""#, "it must have"),
    ])
  func faults(_ found: String, _ replacement: String, _ reason: String) throws {
    let text = String(decoding: try root.encoded(), as: UTF8.self)
    #expect(text.contains(found))
    let error = #expect(throws: TrustError.self) {
      try TrustRoot(reading: Array(text.replacing(found, with: replacement).utf8))
    }
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
  }

  /// The root with the key 4 in the role `online`.
  private func onlineRoot(_ version: Int64 = 1) -> TrustRoot {
    TrustRoot(
      version: version, expires: SignedTime(seconds: 1000),
      roles: [
        .root: (keys[0..<3].map(\.verificationKey), 2), .release: ([keys[3].verificationKey], 1),
        .online: ([keys[4].verificationKey], 1),
      ])
  }

  @Test("the role online may be missing, may come with the next root, and may go again")
  func onlineRole() throws {
    #expect(!root.asksForStatus)
    #expect(onlineRoot().asksForStatus && onlineRoot().fault == nil)
    #expect(try TrustRoot(reading: onlineRoot().encoded()) == onlineRoot())
    let next = try onlineRoot(2).encoded()
    #expect(try root.successor(next, try signed(next, by: [0, 1])).asksForStatus)
    let last = try Self.root(2, keys[0..<3], 2, release: keys[3..<4]).encoded()
    #expect(try !onlineRoot().successor(last, try signed(last, by: [0, 1])).asksForStatus)
  }

  @Test("a reader that does not know the role online reads a root that has it")
  func formerReader() throws {
    // As a reader of today reads one with a role of tomorrow.
    let text = String(decoding: try onlineRoot().encoded(), as: UTF8.self).replacing(#""online""#, with: #""tomorrow""#)
    let read = try TrustRoot(reading: Array(text.utf8))
    #expect(read.roles == root.roles)
  }

  @Test("an online role that asks for more keys than it has is refused")
  func onlineThreshold() throws {
    var root = onlineRoot()
    root.roles[.online]?.threshold = 2
    #expect(root.fault?.contains("its role \"online\" asks for 2 of 1 keys") == true)
  }

  @Test(
    "a status is trusted if enough keys of the role online, or of the role release, have signed",
    arguments: [
      ([4], nil), ([3], nil), ([3, 4], nil), ([], TrustError.unsigned(.status)),
      ([0, 1, 2], .wronglySigned(.status, valid: 0, threshold: 1)),
    ])
  func status(_ signers: [Int], _ error: TrustError?) throws {
    let content = Array("content".utf8)
    let signatures = try signed(content, by: signers, as: .status)
    if let error {
      #expect(throws: error) { try onlineRoot().checkStatus(content, signatures) }
    } else {
      try onlineRoot().checkStatus(content, signatures)
    }
  }

  @Test("the online key signs no manifest and no root, and a status signs for no manifest")
  func onlineKeyAlone() throws {
    let content = Array("content".utf8)
    for kind in [SignedKind.manifest, .root] {
      let role: TrustRoot.Role = kind == .root ? .root : .release
      #expect(throws: TrustError.self) {
        try onlineRoot().check(content, try signed(content, by: [4], as: kind), by: role, as: kind)
      }
    }
    let status = try signed(content, by: [3], as: .status)
    #expect(throws: TrustError.unsigned(.manifest)) {
      try onlineRoot().check(content, status, by: .release, as: .manifest)
    }
  }

  @Test("a key under another id is refused, so that no key counts twice")
  func otherID() throws {
    let text = String(decoding: try root.encoded(), as: UTF8.self)
    let (one, two) = (keys[0].verificationKey, keys[4].verificationKey)
    let error = #expect(throws: TrustError.self) {
      try TrustRoot(reading: Array(text.replacing(one.base64, with: two.base64).utf8))
    }
    #expect(error?.description.contains("has another SHA-256") == true)
  }

  @Test("times are written in one way", arguments: ["2027-01-01T00:00:00Z", "2028-02-29T23:59:59Z"])
  func times(_ text: String) throws {
    #expect(SignedTime(text)?.description == text)
  }

  @Test(
    "other texts are no times",
    arguments: ["", "2027-01-01", "2027-01-01T00:00:00+01:00", "2027-13-01T00:00:00Z", "2027-02-30T00:00:00Z"])
  func noTimes(_ text: String) {
    #expect(SignedTime(text) == nil)
  }

  @Test("a root that lists a point which anybody can sign for is refused", arguments: KeyTests.weak)
  func weakKey(_ hex: String) throws {
    let bytes = try #require(Hex.decode(hex, count: 32))
    let id = try ContentDigests(of: bytes).sha256.hex
    let text = """
      { "kind": "root", "version": 1, "expires": "2027-01-01T00:00:00Z",
        "keys": { "\(id)": "\(Data(bytes).base64EncodedString())" },
        "roles": { "root": { "keys": ["\(id)"], "threshold": 1 }, "release": { "keys": ["\(id)"], "threshold": 1 } } }
      """
    let error = #expect(throws: TrustError.self) { try TrustRoot(reading: Array(text.utf8)) }
    #expect(error.map { "\($0)" }?.contains("that only its owner can sign for") == true)
  }

  @Test("versions, sequences and times from outside never leave 64 bits")
  func largestNumbers() throws {
    let last = Self.root(Int64.sequenceLimit, keys[0..<3], 2, release: keys[3..<4])
    #expect(last.fault == nil)
    let next = Self.root(Int64.sequenceLimit + 1, keys[0..<3], 2, release: keys[3..<4])
    #expect(next.fault?.contains("the last one is") == true)
    let text = String(decoding: try root.encoded(), as: UTF8.self)
      .replacing("\"version\" : 1", with: "\"version\" : 9223372036854775807")
    #expect(throws: TrustError.self) { try TrustRoot(reading: Array(text.utf8)) }
    for (seconds, by) in [(Int64.max, 1), (.min, -1), (.max - 1, Int64.max), (.min + 1, .min)] as [(Int64, Int64)] {
      let time = SignedTime(seconds: seconds).advanced(by: .seconds(by))
      #expect(time.seconds == (by < 0 ? .min : .max))
      #expect(SignedTime(time.description)?.description == time.description)
    }
  }
}
