import HTTPTransport
import Testing

@testable import Releases

struct SignatureFileTests {
  private let content = Array("{}".utf8)

  private func signed(_ keys: SigningKey..., as kind: SignedKind = .manifest) throws -> SignatureFile {
    var file = try SignatureFile(of: content, as: kind)
    for key in keys {
      file.add(try key.sign(content, as: kind))
    }
    return file
  }

  @Test("a file that is written and read has the same signers")
  func writing() throws {
    let (one, two) = (try SigningKey(), try SigningKey())
    let file = try SignatureFile(reading: try signed(one, two).encoded())
    #expect(try file == signed(one, two))
    #expect(
      file.signers(of: content, among: [one.verificationKey, two.verificationKey])
        == [one.verificationKey, two.verificationKey])
    #expect(file.signers(of: content, among: [two.verificationKey]) == [two.verificationKey])
    #expect(file.signers(of: content + [0], among: [one.verificationKey]).isEmpty)
  }

  @Test("a key that signs again replaces its signature, and counts once")
  func repetition() throws {
    let key = try SigningKey()
    var file = try signed(key, key)
    #expect(file.signatures.count == 1)
    file.signatures += file.signatures
    #expect(file.signers(of: content, among: [key.verificationKey, key.verificationKey]).count == 1)
  }

  @Test("a signature under another key's id does not count")
  func otherID() throws {
    let (one, two) = (try SigningKey(), try SigningKey())
    var file = try signed(one)
    file.signatures = [.init(keyID: two.verificationKey.id, bytes: file.signatures[0].bytes)]
    #expect(file.signers(of: content, among: [one.verificationKey, two.verificationKey]).isEmpty)
  }

  @Test("a signature of one kind is none of another kind")
  func kinds() throws {
    let key = try SigningKey()
    var file = try signed(key, as: .root)
    file.kind = .manifest
    #expect(file.signers(of: content, among: [key.verificationKey]).isEmpty)
  }

  @Test(
    "a file that is none is refused with the reason",
    arguments: [
      ("", "it is not JSON"), ("[]", "it must have"), (#"{"type": "x"}"#, "it must have"),
      (#"{"type": "x", "sha256": "ID", "signatures": []}"#, "its type \"x\" is unknown"),
      (
        #"{"type": "application/vnd.pagekit.root+json", "sha256": "ID", "signatures": [MANY]}"#,
        "it has 65 signatures, more than 64"
      ),
      (String(repeating: " ", count: 70_000), "it has more than 65536 bytes"),
    ])
  func faults(_ text: String, _ reason: String) {
    let many = Array(repeating: #"{"keyid": "", "sig": ""}"#, count: 65).joined(separator: ",")
    let text = text.replacing("ID", with: String(repeating: "a", count: 64)).replacing("MANY", with: many)
    let error = #expect(throws: TrustError.self) { try SignatureFile(reading: Array(text.utf8)) }
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
  }

  @Test("signatures of other algorithms are left out")
  func otherAlgorithms() throws {
    let id = String(repeating: "a", count: 64)
    let text =
      #"{"type": "application/vnd.pagekit.root+json", "sha256": "\#(id)", "signatures": [{"keyid": "\#(id)", "sig": "AAAA"}, {"keyid": "x", "sig": ""}]}"#
    #expect(try SignatureFile(reading: Array(text.utf8)).signatures.isEmpty)
  }

  @Test(
    "a page that a server has for missing files is called by its name", arguments: ["<html>", "\n <!doctype html>"])
  func html(_ text: String) throws {
    let error = #expect(throws: TrustError.self) { try SignatureFile(reading: Array(text.utf8)) }
    #expect(error.map { "\($0)" }?.contains("it is HTML: the server answers with a page of its own") == true)
  }
}
