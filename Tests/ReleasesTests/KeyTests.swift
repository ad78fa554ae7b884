import Foundation
import HTTPTransport
import Testing

@testable import Releases

struct KeyTests {
  /// RFC 8032 §7.1, tests 1 and 2.
  @Test(
    "signatures are those of RFC 8032",
    arguments: [
      (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
      ),
      (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
      ),
    ])
  func vectors(_ key: String, _ message: String, _ signature: String) throws {
    let bytes = try #require(Hex.decode(key, count: 32))
    let key = try #require(VerificationKey(bytes: bytes))
    let message = try #require(Hex.decode(message, count: message.utf8.count / 2))
    var signature = try #require(Hex.decode(signature, count: 64))
    #expect(key.isValid(signature, over: message))
    #expect(!key.isValid(signature, over: message + [0]))
    #expect(!key.isValid(signature.dropLast(), over: message))
    signature[40] ^= 1
    #expect(!key.isValid(signature, over: message))
  }

  @Test("a key that is written and read signs as before")
  func files() throws {
    let key = try SigningKey()
    let read = try SigningKey(pem: Array(try key.pem().utf8))
    #expect(read.verificationKey == key.verificationKey)
    #expect(try VerificationKey(pem: Array(try key.verificationKey.pem().utf8)) == key.verificationKey)
    #expect(try VerificationKey(pem: Array(try key.pem().utf8)) == key.verificationKey)
    #expect(key.verificationKey.isValid(try read.signature(over: [1, 2, 3]), over: [1, 2, 3]))
    #expect(try key.pem().hasPrefix("-----BEGIN PRIVATE KEY-----"))
  }

  @Test(
    "what is no Ed25519 key is refused",
    arguments: [
      ("", KeyError.unreadable), ("text", .unreadable),
      ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", .unreadable),
      // X25519, which is for agreeing on secrets: RFC 8410 §3.
      (
        """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VuAyEAhSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=
        -----END PUBLIC KEY-----

        """, .notEd25519
      ),
    ])
  func otherFiles(_ text: String, _ error: KeyError) {
    #expect(throws: error) { try VerificationKey(pem: Array(text.utf8)) }
  }

  @Test("a key with a passphrase is refused without asking for it")
  func passphrase() throws {
    // Made with `openssl genpkey -algorithm ed25519 -aes256 -pass pass:word`.
    let text = """
      -----BEGIN ENCRYPTED PRIVATE KEY-----
      MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgepcUI7xmwRwICCAAw
      DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEJa3fTW1IK0p6eN82cwOKAwEQDe1
      WJerUldergsDnW1kh2E72jWNjkqsY8koc3zNJo9/td4ZuM3rvRTPfVeVjfCYzcOo
      oIJpgyrNLorlFu50YKQ=
      -----END ENCRYPTED PRIVATE KEY-----

      """
    #expect(throws: KeyError.unreadable) { try SigningKey(pem: Array(text.utf8)) }
  }

  /// Points whose order divides 8, also with the other sign, and those with a coordinate of 2²⁵⁵ − 19 or more.
  static let weak = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "f3ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  ]

  @Test("a point that anybody can sign for, and a second name of a point, is no key", arguments: weak)
  func weakPoint(_ hex: String) throws {
    let bytes = try #require(Hex.decode(hex, count: 32))
    #expect(VerificationKey(bytes: bytes) == nil)
    #expect(VerificationKey(base64: Data(bytes).base64EncodedString()) == nil)
    let pem = try #require(KeyHandle(publicBytes: bytes)).publicPEM()
    #expect(throws: KeyError.weak) { try VerificationKey(pem: Array(pem.utf8)) }
  }

  @Test("libcrypto takes a signature that anybody can make for the point of order 1")
  func identity() throws {
    let identity: [UInt8] = [1] + Array(repeating: 0, count: 31)
    let handle = try #require(KeyHandle(publicBytes: identity))
    let signature = identity + Array(repeating: 0, count: 32)
    #expect(handle.verifies(signature, over: Array("any message".utf8)))
  }
}
