import Foundation
import HTTPTransport
import PageTesting
import TestSupport
import Testing

@testable import Releases

struct ManifestBuilderTests {
  @Test("the manifest, its signatures and the roots beside it are not part of a release")
  func filesBesideTheManifest() throws {
    let folder = try TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: folder.file("below"), withIntermediateDirectories: true)
    let left = ["manifest.json", "manifest.json.sig", "2.root.json", "2.root.json.sig"]
    let listed = ["02.root.json", "below/2.root.json", "below/manifest.json.sig", "my.root.json"]
    for name in ["home.js"] + left + listed {
      try Data("var a".utf8).write(to: URL(fileURLWithPath: folder.file(name)))
    }
    var builder = ManifestBuilder(folder: folder.path)
    builder.excluded = folder.file("manifest.json")
    let manifest = try builder.manifest(following: nil, base: "")
    #expect(manifest.bundles.map(\.path) == ["home.js"])
    #expect(manifest.files.map(\.path) == listed)
  }

  @Test("the settings of the gate are a file of the release only where there is no gate")
  func gateSettings() throws {
    let folder = try TemporaryDirectory()
    for name in ["home.js", "gate.json"] {
      try Data("var a".utf8).write(to: URL(fileURLWithPath: folder.file(name)))
    }
    var builder = ManifestBuilder(folder: folder.path)
    #expect(try builder.manifest(following: nil, base: "").files.map(\.path) == ["gate.json"])
    builder.hasGate = true
    #expect(try builder.manifest(following: nil, base: "").files.isEmpty)
  }

  @Test("copies that editors and merges leave are no files of a release")
  func copiesOfEditors() throws {
    let folder = try TemporaryDirectory()
    for name in ["home.js", "home.js~", "home.js.swp", "home.js.orig", "#home.js#", "#", "a~b.js", "original"] {
      try Data("var a".utf8).write(to: URL(fileURLWithPath: folder.file(name)))
    }
    let manifest = try ManifestBuilder(folder: folder.path).manifest(following: nil, base: "")
    #expect(manifest.bundles.map(\.path) == ["a~b.js", "home.js"])
    #expect(manifest.files.map(\.path) == ["#", "original"])
  }

  private static let digits = "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/v+vguoRK9JLsLMREScVpezJpGXA7rAMcrn9"

  @Test(
    "a file with a private key is refused, whatever its name",
    arguments: [
      "-----BEGIN PRIVATE KEY-----\n\(digits)\n-----END PRIVATE KEY-----\n",
      "-----BEGIN RSA PRIVATE KEY-----\r\n\(digits)", "-----BEGIN OPENSSH PRIVATE KEY-----\n\(digits)",
      "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n",
      "x - y --\n-----BEGIN EC PRIVATE KEY-----\n\(digits)",
      "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n\(digits)", #"{"key": "-----BEGIN PRIVATE KEY-----\n\#(digits)\n"}"#,
    ])
  func privateKeys(_ text: String) throws {
    let folder = try TemporaryDirectory()
    try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file("notes.txt")))
    let error = #expect(throws: DescribedError.self) {
      try ManifestBuilder(folder: folder.path).manifest(following: nil, base: "")
    }
    #expect(
      error?.description
        == "\(folder.path)/notes.txt has a private key, which is not published: move it out of the folder")
  }

  @Test(
    "public keys, and the words of a library that reads keys, are none",
    arguments: [
      "-----BEGIN PUBLIC KEY-----\n\(digits)", "-----BEGIN CERTIFICATE-----\n\(digits)",
      #"var head = "-----BEGIN PRIVATE KEY-----\n" + text"#,
      "-----BEGIN PRIVATE KEY-----", "PRIVATE KEY-----\n\(digits)",
      "-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----", "-----BEGIN ", "-",
    ])
  func noPrivateKeys(_ text: String) throws {
    let folder = try TemporaryDirectory()
    try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file("notes.txt")))
    #expect(try ManifestBuilder(folder: folder.path).manifest(following: nil, base: "").files.count == 1)
  }
}
