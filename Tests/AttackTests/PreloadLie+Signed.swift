import Foundation
import HTTPTransport
import HTTPTypes
import PageTesting
import Releases

// MARK: - Signed files

extension PreloadLie {
  // A machine without Ed25519 cannot run these tests.
  private static let keys = (0..<6).compactMap { _ in try? SigningKey() }
  private static var rootKey: SigningKey { keys[0] }
  /// Both must sign.
  static var releaseKeys: [SigningKey] { Array(keys[1...2]) }
  static var onlineKey: SigningKey { keys[3] }
  private static var strangers: [SigningKey] { Array(keys[4...5]) }

  static func root(_ version: Int64 = 1, release: [SigningKey]? = nil, expires: Int64 = 86_400) -> TrustRoot {
    TrustRoot(
      version: version, expires: SignedTime(seconds: now + expires),
      roles: [
        .root: ([rootKey.verificationKey], 1), .release: ((release ?? releaseKeys).map(\.verificationKey), 2),
        .online: ([onlineKey.verificationKey], 1),
      ])
  }

  static func signatures(of bytes: [UInt8], as kind: SignedKind, by keys: [SigningKey]) throws -> [UInt8] {
    var file = try SignatureFile(of: bytes, as: kind)
    for key in keys { file.add(try key.sign(bytes, as: kind)) }
    return try file.encoded()
  }

  static func status(
    _ release: Int, sequence: Int64? = nil, of bytes: [UInt8]? = nil, for seconds: Int64 = 3_600
  ) throws -> [UInt8] {
    let digest = try SHA256Digest(of: bytes ?? manifest(release))
    return try ReleaseStatus(
      sequence: sequence ?? Int64(release), signed: SignedTime(seconds: now - 60),
      expires: SignedTime(seconds: now + seconds),
      release: .init(name: "r\(release)", sequence: Int64(release), sha256: digest)
    ).encoded()
  }

  /// - Parameter files: what is there in the place of what the publisher has.
  private static func signed(
    _ name: String, _ files: [String: [UInt8]?], _ expected: Outcome, status: Int = 404
  ) -> PreloadLie {
    PreloadLie(
      name: "signed: \(name)", answers: files.mapValues { [$0.map { answer($0) } ?? answer([], status: status)] },
      expected: expected, isSigned: true)
  }

  private static let file = (try? signatures(of: manifest(), as: .manifest, by: releaseKeys)) ?? []

  /// The signature file of the manifest, changed as text.
  private static func tampered(
    _ name: String, _ expected: Outcome, _ change: (String) -> String
  ) -> PreloadLie {
    signed(name, ["manifest.json.sig": Array(change(String(decoding: file, as: UTF8.self)).utf8)], expected)
  }

  private static func signature(_ name: String, _ expected: Outcome, _ change: ([UInt8]) -> String) -> PreloadLie {
    let own = (try? releaseKeys[0].sign(manifest(), as: .manifest).bytes) ?? []
    return tampered(name, expected) { $0.replacing(Data(own).base64EncodedString(), with: change(own)) }
  }

  /// A manifest that its publisher has signed, with this text of it.
  private static func manifested(_ name: String, _ bytes: [UInt8], _ words: String) -> PreloadLie {
    let files = try? [
      "manifest.json": bytes, "manifest.json.sig": signatures(of: bytes, as: .manifest, by: releaseKeys),
      "status.json": status(2, of: bytes),
      "status.json.sig": signatures(of: status(2, of: bytes), as: .status, by: [onlineKey]),
    ]
    return signed(name, files ?? [:], .refused(words))
  }

  private static func rooted(_ name: String, _ bytes: [UInt8], by keys: [SigningKey], _ expected: Outcome) -> PreloadLie
  {
    let sig = try? signatures(of: bytes, as: .root, by: keys)
    return signed(name, ["2.root.json": bytes, "2.root.json.sig": sig], expected)
  }

  private static func rootText(_ change: (String) -> String) -> [UInt8] {
    Array(change(String(decoding: (try? root(2).encoded()) ?? [], as: UTF8.self)).utf8)
  }

  private static func stated(_ name: String, _ bytes: [UInt8], _ expected: Outcome, by keys: [SigningKey]? = nil)
    -> PreloadLie
  {
    let sig = try? signatures(of: bytes, as: .status, by: keys ?? [onlineKey])
    return signed(name, ["status.json": bytes, "status.json.sig": sig], expected)
  }

  private static func statusText(_ change: (String) -> String) -> [UInt8] {
    Array(change(String(decoding: (try? status(2)) ?? [], as: UTF8.self)).utf8)
  }

  private static let one = Outcome.refused("valid signatures of 1 trusted keys, 2 are needed")
  private static let none = Outcome.refused("valid signatures of 0 trusted keys, 2 are needed")
  private static let page = Array("<html>not found</html>".utf8)

  /// The same number modulo the group's order: a second form of one signature. RFC 8032 §5.1.7.
  private static func second(_ signature: [UInt8]) -> String {
    let order: [UInt8] = [
      0xED, 0xD3, 0xF5, 0x5C, 0x1A, 0x63, 0x12, 0x58, 0xD6, 0x9C, 0xF7, 0xA2, 0xDE, 0xF9, 0xDE, 0x14, 0, 0, 0, 0, 0, 0,
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ]
    var bytes = signature
    var carry = 0
    for index in 0..<32 {
      let sum = Int(bytes[32 + index]) + Int(order[index]) + carry
      (bytes[32 + index], carry) = (UInt8(sum & 0xFF), sum >> 8)
    }
    return Data(bytes).base64EncodedString()
  }

  static let signed: [PreloadLie] = [
    signed("nothing changed", [:], .taken),
    signed("no signature file", ["manifest.json.sig": nil], .refused("is not signed")),
    signed("an error for the signature file", ["manifest.json.sig": nil], .refused("500"), status: 500),
    signed("a page for the signature file", ["manifest.json.sig": page], .refused("it is HTML")),
    signed("nothing in the signature file", ["manifest.json.sig": []], .refused("cannot be read")),
    signed(
      "a signature file of 70 KB", ["manifest.json.sig": file + [UInt8](repeating: 32, count: 70_000)],
      .refused("65536")),
    signed(
      "the signatures of the former manifest",
      ["manifest.json.sig": try? signatures(of: manifest(1), as: .manifest, by: releaseKeys)], none),
    signed(
      "the signatures of strangers",
      ["manifest.json.sig": try? signatures(of: manifest(), as: .manifest, by: strangers)], none),
    signed(
      "the signatures of the root's key",
      ["manifest.json.sig": try? signatures(of: manifest(), as: .manifest, by: [rootKey])], none),
    signed(
      "the signatures of the manifest as a status",
      ["manifest.json.sig": try? signatures(of: manifest(), as: .status, by: releaseKeys)],
      .refused("is not signed")),
    signed("a manifest with a space more", ["manifest.json": manifest() + [32]], none),
    signed("a manifest with other words", ["manifest.json": manifest(2, "\"release\":\"r3\",")], none),
    tampered("another type", .refused("is not signed")) { $0.replacing("manifest+json", with: "root+json") },
    tampered("a type that there is not", .refused("is unknown")) { $0.replacing("manifest+json", with: "x") },
    tampered("no type", .refused("it must have \"type\"")) { $0.replacing("\"type\"", with: "\"x\"") },
    tampered("a type that is a number", .refused("it must have \"type\"")) {
      $0.replacing("\"\(SignedKind.manifest.rawValue)\"", with: "1")
    },
    tampered("a digest of other bytes, which nobody relies on", .taken) {
      $0.replacing(digests(manifest()).sha256, with: old.sha256)
    },
    tampered("a digest that is none", .refused("cannot be read")) {
      $0.replacing(digests(manifest()).sha256, with: "x")
    },
    tampered("no signatures", .refused("it must have \"type\"")) { $0.replacing("\"signatures\"", with: "\"x\"") },
    tampered("a list of no signatures", .refused("is not signed")) {
      String($0.prefix { $0 != "[" }).replacing("\"sha256\"", with: "\"sha256\"") + "[], \"x\" : ["
        + String($0.drop { $0 != "[" }.dropFirst())
    },
    tampered("signatures that are texts", .refused("it must have \"type\"")) {
      String($0.prefix { $0 != "[" }) + "[\"a\"], \"x\" : [" + String($0.drop { $0 != "[" }.dropFirst())
    },
    tampered("65 signatures", .refused("more than 64")) { text in
      let more = String(repeating: "{\"keyid\":\"\",\"sig\":\"\"},", count: 63)
      return String(text.prefix { $0 != "[" }) + "[" + more + String(text.drop { $0 != "[" }.dropFirst())
    },
    tampered("one key's signature twice", one) {
      $0.replacing(releaseKeys[1].verificationKey.id.hex, with: releaseKeys[0].verificationKey.id.hex)
    },
    tampered("a key's id that is none", one) { $0.replacing(releaseKeys[1].verificationKey.id.hex, with: "x") },
    tampered("a key's id of a stranger", one) {
      $0.replacing(releaseKeys[1].verificationKey.id.hex, with: strangers[0].verificationKey.id.hex)
    },
    signature("a flipped bit in a signature", one) { Data([$0[0] ^ 1] + $0.dropFirst()).base64EncodedString() },
    signature("a flipped bit at a signature's end", one) { Data($0.dropLast() + [$0[63] ^ 1]).base64EncodedString() },
    signature("a signature of 63 bytes", one) { Data($0.dropLast()).base64EncodedString() },
    signature("a signature of 65 bytes", one) { Data($0 + [0]).base64EncodedString() },
    signature("a signature of zeros", one) { _ in Data(repeating: 0, count: 64).base64EncodedString() },
    signature("a signature that is no base64", one) { _ in "?" },
    signature("a signature in hexadecimal", one) { $0.map { String($0, radix: 16) }.joined() },
    signature("a second form of a signature", one) { second($0) },

    manifested("a manifest without an end", manifest(2, "\"expires\":null,"), "is signed for ever"),
    manifested("a manifest whose end is no time", manifest(2, "\"expires\":\"never\","), "is signed for ever"),
    manifested(
      "a manifest beyond its end", manifest(2, "\"expires\":\"\(SignedTime(seconds: now - 60))\","), "has expired"),
    manifested(
      "a manifest that binds no bytes", manifest(2, entry: "\"sha256\":null,"), "so that the signature binds the bytes"),
    manifested(
      "a manifest that binds no size", manifest(2, entry: "\"size\":null,"), "so that the signature binds the bytes"),
    manifested(
      "a manifest of another program", Array("[{\"path\":\"home.js\",\"md5\":\"\(new.md5)\"}]".utf8),
      "whose form cannot be signed"),
    manifested("a manifest of a lower sequence", manifest(2, "\"sequence\":0,"), "a server may not go back"),
    manifested(
      "another manifest of the same sequence", manifest(2, "\"sequence\":1,"),
      "which another one with other bytes has too"),

    rooted("a page for the next root", page, by: [rootKey], .taken),
    rooted("half of the next root", Array(rootText { $0 }.dropLast(20)), by: [rootKey], .refused("cannot be read")),
    rooted("the next root without signatures", rootText { $0 }, by: [], .refused("is not signed")),
    rooted("the next root by a stranger", rootText { $0 }, by: strangers, .refused("valid signatures of 0")),
    rooted(
      "the next root of another version", rootText { $0.replacing("\"version\" : 2", with: "\"version\" : 3") },
      by: [rootKey],
      .refused("must have version 2")),
    rooted(
      "the next root of version 0", rootText { $0.replacing("\"version\" : 2", with: "\"version\" : 0") },
      by: [rootKey],
      .refused("version")),
    rooted(
      "the next root of another kind", rootText { $0.replacing("\"root\",", with: "\"status\",") }, by: [rootKey],
      .refused("kind")),
    rooted(
      "the next root that asks for no key", rootText { $0.replacing("\"threshold\" : 2", with: "\"threshold\" : 0") },
      by: [rootKey],
      .refused("cannot be read")),
    rooted(
      "the next root that asks for more keys than it has",
      rootText { $0.replacing("\"threshold\" : 2", with: "\"threshold\" : 3") }, by: [rootKey],
      .refused("cannot be read")),
    rooted(
      "the next root with a key under another's id",
      rootText { $0.replacing(releaseKeys[0].verificationKey.id.hex, with: old.sha256) },
      by: [rootKey], .refused("cannot be read")),
    rooted("the next root with other keys", (try? root(2, release: strangers).encoded()) ?? [], by: [rootKey], none),
    rooted(
      "the next root that is over", (try? root(2, expires: -60).encoded()) ?? [], by: [rootKey], .refused("has expired")
    ),
    signed("a refusal for the next root", ["2.root.json": nil], .taken, status: 403),
    signed("an error for the next root", ["2.root.json": nil], .refused("500"), status: 500),

    signed("no status", ["status.json": nil], .refused("there is no status.json")),
    stated("a page for the status", page, .refused("it is HTML")),
    signed("a status without signatures", ["status.json.sig": nil], .refused("the status is not signed")),
    stated(
      "a status by a stranger", statusText { $0 }, .refused("the status has valid signatures of 0"), by: strangers),
    stated(
      "a status by one of two release keys", statusText { $0 }, .refused("the status has valid signatures"),
      by: [releaseKeys[0]]),
    stated(
      "a status of another kind", statusText { $0.replacing("\"status\"", with: "\"root\"") }, .refused("its kind is")),
    stated(
      "a status of the former manifest", (try? status(1, sequence: 2)) ?? [], .refused("the status is of release r1")),
    stated("a status of a lower sequence", (try? status(2, sequence: 0)) ?? [], .refused("its sequence is 0")),
    stated(
      "another status of the same sequence", (try? status(2, sequence: 1)) ?? [],
      .refused("which another one with other bytes has too")),
    stated("a status beyond its end", (try? status(2, for: -30)) ?? [], .refused("has expired")),
    stated("a status that ends before it begins", (try? status(2, for: -90)) ?? [], .refused("which is not after")),
    stated(
      "a status that disables a bundle twice",
      statusText {
        $0.replacing(
          "{\n", with: "{\n\"disabled\":[{\"bundle\":\"x\",\"message\":\"m\"},{\"bundle\":\"x\",\"message\":\"m\"}],\n",
          maxReplacements: 1)
      },
      .refused("twice")),
    stated(
      "a status that disables without a word",
      statusText {
        $0.replacing("{\n", with: "{\n\"disabled\":[{\"bundle\":\"x\",\"message\":\"\"}],\n", maxReplacements: 1)
      },
      .refused("the message of")),
    stated(
      "a status that goes back to its own release",
      statusText {
        $0.replacing(
          "{\n", with: "{\n\"rollbackTo\":{\"sequence\":2,\"sha256\":\"\(old.sha256)\"},\n", maxReplacements: 1)
      },
      .refused("must be lower")),
    stated(
      "a status that halts by a text",
      statusText { $0.replacing("{\n", with: "{\n\"halted\":\"yes\",\n", maxReplacements: 1) },
      .refused("cannot be read")),
    stated("a status of 70 KB", statusText { $0 + String(repeating: " ", count: 70_000) }, .refused("65536")),
  ]
}
