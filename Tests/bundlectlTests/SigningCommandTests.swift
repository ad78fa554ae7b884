import Foundation
import PageKit
import Releases
import Testing

struct SigningCommandTests {
  /// Runs a command that must fail.
  private static func failure(_ site: Site, _ arguments: String...) async throws -> String {
    let result = try await Command.start(arguments, in: site.folder.path).result()
    #expect(result.status == 1, "\(arguments)")
    return result.output + result.error
  }

  /// A signed release of one page, and the root that trusts it.
  private static func publish(in site: Site) async throws {
    try site.write("var a", to: "pages/a.js")
    try await site.run("manifest", "build", "pages", "-o", "manifest.json")
    try await site.run("key", "new", "root.pem")
    try await site.run("key", "new", "release.pem")
    try await site.run("root", "new", "--root-key", "root.pem", "--release-key", "release.pem")
    try await site.run("manifest", "sign", "--key", "release.pem", "--expires-in", "30d")
  }

  @Test("a signed manifest is verified against the root, and a changed one is refused")
  func signing() async throws {
    try await Site.running { site in
      try await Self.publish(in: site)
      let verified = try await site.run("manifest", "verify", "--root", "1.root.json", "--json").json
      #expect(verified["valid"] as? Bool == true)
      #expect(verified["sequence"] as? Int == 1)
      let path = site.folder.file("manifest.json")
      let text = try String(contentsOfFile: path, encoding: .utf8)
      try text.replacing(#""sequence" : 1"#, with: #""sequence" : 2"#).write(
        toFile: path, atomically: true, encoding: .utf8)
      #expect(
        try await Self.failure(site, "manifest", "verify", "--root", "1.root.json")
          .contains("the manifest has valid signatures of 0 trusted keys, 1 are needed"))
      try FileManager.default.removeItem(atPath: path + ".sig")
      #expect(
        try await Self.failure(site, "manifest", "verify", "--root", "1.root.json").contains(
          "the manifest is not signed"))
    }
  }

  @Test("a manifest that is signed without an end is refused, with what to do")
  func unlimited() async throws {
    try await Site.running { site in
      try site.write("var a", to: "pages/a.js")
      try await site.run("manifest", "build", "pages", "-o", "manifest.json")
      try await site.run("key", "new", "release.pem")
      #expect(try await Self.failure(site, "manifest", "sign", "--key", "release.pem").contains("--expires-in"))
      #expect(!FileManager.default.fileExists(atPath: site.folder.file("manifest.json.sig")))
    }
  }

  @Test("several people sign one after the other, and signatures of an older manifest are dropped")
  func severalSigners() async throws {
    try await Site.running { site in
      try site.write("var a", to: "pages/a.js")
      try await site.run("manifest", "build", "pages", "-o", "manifest.json")
      for name in ["root", "one", "two"] { try await site.run("key", "new", "\(name).pem") }
      try await site.run(
        "root", "new", "--root-key", "root.pem", "--release-key", "one.pem", "--release-key", "two.pem",
        "--release-threshold", "2")
      let first = try await site.run("manifest", "sign", "--key", "one.pem", "--expires-in", "30d")
      #expect(first.output.contains("1.root.json asks for 1 more signature"))
      #expect(
        try await Self.failure(site, "manifest", "verify", "--root", "1.root.json")
          .contains("valid signatures of 1 trusted keys, 2 are needed"))
      try await site.run("manifest", "sign", "--key", "two.pem")
      try await site.run("manifest", "verify", "--root", "1.root.json")
      try await site.run("manifest", "sign", "--key", "two.pem", "--expires-in", "60d")
      #expect(
        try await Self.failure(site, "manifest", "verify", "--root", "1.root.json")
          .contains("valid signatures of 1 trusted keys, 2 are needed"))
    }
  }

  @Test("a key that the newest root does not list for releases signs no manifest, and the manifest stays as it is")
  func stranger() async throws {
    try await Site.running { site in
      try await Self.publish(in: site)
      let before = try Data(contentsOf: URL(fileURLWithPath: site.folder.file("manifest.json")))
      let refusal = try await Self.failure(site, "manifest", "sign", "--key", "root.pem", "--expires-in", "60d")
      #expect(refusal.contains("1.root.json does not list the key"))
      #expect(try Data(contentsOf: URL(fileURLWithPath: site.folder.file("manifest.json"))) == before)
      // A root that is still being signed does not count.
      try await site.run("key", "new", "next.pem")
      let removed = site.folder.file("release.pem")
      try await site.run(
        "root", "rotate", "1.root.json", "--remove-release-key", removed, "--add-release-key", "next.pem")
      try await site.run("manifest", "sign", "--key", "release.pem")
      try await site.run("root", "sign", "2.root.json", "--key", "root.pem")
      #expect(try await Self.failure(site, "manifest", "sign", "--key", "release.pem").contains("2.root.json"))
    }
  }

  @Test("a sequence that cannot be counted on from is refused, and no file is counted beyond it")
  func largestSequence() async throws {
    try await Site.running { site in
      try site.write("var a", to: "pages/a.js")
      let build = ["manifest", "build", "pages", "-o", "manifest.json"]
      for number in ["9223372036854775807", "4611686018427387905", "-1"] {
        let result = try await Command.start(build + ["--sequence=\(number)"], in: site.folder.path).result()
        #expect(result.status == 64 && result.error.contains("--sequence must be from 0 to 4611686018427387904"))
      }
      #expect(
        try await Command.start(build + ["--sequence", "4611686018427387904"], in: site.folder.path).result().status
          == 0)
      try site.write("var b", to: "pages/a.js")
      #expect(try await Self.failure(site, "manifest", "build", "pages", "-o", "manifest.json").contains("largest one"))
      try site.write(#"{"schema":1,"release":"r","sequence":9223372036854775807,"bundles":[]}"#, to: "manifest.json")
      #expect(
        try await Self.failure(site, "manifest", "build", "pages", "-o", "manifest.json").contains("is not a manifest"))
    }
  }

  @Test("a lost root key is replaced by the others")
  func rotation() async throws {
    try await Site.running { site in
      for name in ["a", "b", "lost", "new", "release"] { try await site.run("key", "new", "\(name).pem") }
      try await site.run(
        "root", "new", "--root-key", "a.pem", "--root-key", "b.pem", "--root-key", "lost.pem",
        "--root-threshold", "2", "--release-key", "release.pem")
      let publicKey = try await site.run("key", "show", "lost.pem").output
      try site.write(publicKey, to: "lost.pub")
      try FileManager.default.removeItem(atPath: site.folder.file("lost.pem"))
      let waiting = try await site.run(
        "root", "rotate", "1.root.json", "--remove-root-key", "lost.pub", "--add-root-key", "new.pem", "--key",
        "a.pem")
      #expect(waiting.output.contains("not valid yet"))
      #expect(try await Self.failure(site, "root", "verify", "1.root.json", "2.root.json").contains("2 are needed"))
      try await site.run("root", "sign", "2.root.json", "--key", "b.pem")
      let verified = try await site.run("root", "verify", "1.root.json", "2.root.json")
      #expect(verified.output.contains("2.root.json is trusted: root 2, keys 2 of 3 for root, 1 of 1 for release"))
    }
  }

  @Test("a root that is there is not overwritten, with what to do, and stays as it is")
  func existingRoot() async throws {
    try await Site.running { site in
      try await Self.publish(in: site)
      let paths = ["1.root.json", "1.root.json.sig"].map { URL(fileURLWithPath: site.folder.file($0)) }
      let before = try paths.map { try Data(contentsOf: $0) }
      let again = ["root", "new", "--root-key", "root.pem", "--release-key", "release.pem"]
      for arguments in [again, again + ["-o", "1.root.json"], again + ["-o", "manifest.json"]] {
        let result = try await Command.start(arguments, in: site.folder.path).result()
        #expect(result.status == 1 && result.error.contains("a root is not overwritten"), "\(result.error)")
        #expect(result.error.contains("root rotate 1.root.json") != arguments.contains("manifest.json"))
      }
      let rotate = ["root", "rotate", "1.root.json", "--add-release-key", "root.pem", "--key", "root.pem"]
      #expect(try await Command.start(rotate, in: site.folder.path).result().status == 0)
      let second = try Data(contentsOf: URL(fileURLWithPath: site.folder.file("2.root.json")))
      #expect(try await Command.start(rotate, in: site.folder.path).result().error.contains("2.root.json exists"))
      #expect(try Data(contentsOf: URL(fileURLWithPath: site.folder.file("2.root.json"))) == second)
      #expect(try paths.map { try Data(contentsOf: $0) } == before)
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: site.folder.path).allSatisfy { !$0.hasSuffix(".part") })
    }
  }

  @Test("a key that neither the old nor the new root lists for roots signs no root")
  func strangerAtRoots() async throws {
    try await Site.running { site in
      try await Self.publish(in: site)
      for name in ["next", "stranger"] { try await site.run("key", "new", "\(name).pem") }
      let rotate = ["root", "rotate", "1.root.json", "--remove-root-key", "root.pem", "--add-root-key", "next.pem"]
      for key in ["stranger.pem", "release.pem"] {
        let result = try await Command.start(rotate + ["--key", key], in: site.folder.path).result()
        #expect(result.status == 1 && result.error.contains("neither 1.root.json nor its successor lists"))
      }
      #expect(!FileManager.default.fileExists(atPath: site.folder.file("2.root.json")))
      #expect(try await Command.start(rotate, in: site.folder.path).result().status == 0)
      let refusal = try await Self.failure(site, "root", "sign", "2.root.json", "--key", "stranger.pem")
      #expect(refusal.contains("2.root.json does not list the key") && refusal.contains("nor does 1.root.json"))
      // The removed key has to sign too, and is known by the old root only.
      let old = site.folder.file("1.root.json")
      try FileManager.default.moveItem(atPath: old, toPath: old + ".away")
      #expect(
        try await Self.failure(site, "root", "sign", "2.root.json", "--key", "root.pem")
          .contains("the one before, 1.root.json, is not there"))
      try FileManager.default.moveItem(atPath: old + ".away", toPath: old)
      for key in ["root.pem", "next.pem"] { try await site.run("root", "sign", "2.root.json", "--key", key) }
      try await site.run("root", "verify", "1.root.json", "2.root.json")
    }
  }

  @Test("commands that sign describe what they have done as JSON")
  func json() async throws {
    try await Site.running { site in
      try site.write("var a", to: "pages/a.js")
      let built = try await site.run("manifest", "build", "pages", "-o", "manifest.json", "--json").json
      #expect(built["bundles"] as? Int == 1 && built["sequence"] as? Int == 1 && built["changed"] as? Bool == true)
      for name in ["root", "release", "online"] { try await site.run("key", "new", "\(name).pem") }
      let root = try await site.run(
        "root", "new", "--root-key", "root.pem", "--release-key", "release.pem", "--json"
      ).json
      #expect(
        root["version"] as? Int == 1 && root["valid"] as? Bool == true && root["root"] as? String == "1.root.json")
      let signed = try await site.run("manifest", "sign", "--key", "release.pem", "--expires-in", "30d", "--json").json
      #expect((signed["signedBy"] as? [String])?.count == 1 && signed["missing"] as? Int == 0)
      let rotated = try await site.run("root", "rotate", "1.root.json", "--add-online-key", "online.pem", "--json").json
      #expect(rotated["version"] as? Int == 2 && rotated["valid"] as? Bool == false)
      let by = try await site.run("root", "sign", "2.root.json", "--key", "root.pem", "--json").json["signedBy"]
      #expect((by as? [String])?.count == 1)
      let verified = try await site.run("root", "verify", "1.root.json", "2.root.json", "--json").json
      #expect(verified["valid"] as? Bool == true && (verified["roles"] as? [String: Any])?.count == 3)
      let status = try await site.run("manifest", "status", "--key", "online.pem", "--disable", "a=Off.", "--json").json
      #expect(status["disabled"] as? [String] == ["a"] && status["sequence"] as? Int == 1)
      let token = try await site.run("key", "token", "install", "--key", "release.pem", "--json").json
      #expect((token["token"] as? String)?.split(separator: ".").count == 3)
      let whole = try await site.run("manifest", "rollout", "--percent", "100", "--json").json
      #expect(whole["percent"] as? Double == 100 && whole["otherwise"] is NSNull)
      let refused = try await Command.start(
        ["root", "sign", "3.root.json", "--key", "root.pem", "--json"], in: site.folder.path
      )
      .result()
      #expect(try refused.status == 1 && refused.json["error"] is String)
    }
  }

  @Test("a command signs in the place of a key file")
  func command() async throws {
    try await Site.running { site in
      try await Self.publish(in: site)
      try site.write(try await site.run("key", "show", "release.pem").output, to: "release.pub")
      // openssl wants the message in a file, since Ed25519 reads it twice.
      let command = "cat >message && openssl pkeyutl -sign -rawin -inkey release.pem -in message"
      for command in [command, command + " | base64"] {
        try await site.run(
          "manifest", "sign", "--sign-with", command, "--public-key", "release.pub", "--expires-in", "1d")
        try await site.run("manifest", "verify", "--root", "1.root.json")
      }
      #expect(
        try await Self.failure(site, "manifest", "sign", "--sign-with", "echo no", "--public-key", "release.pub")
          .contains("gave no signature by the key"))
      #expect(
        try await Self.failure(site, "manifest", "sign", "--sign-with", "exit 3", "--public-key", "release.pub")
          .contains("ended with 3"))
    }
  }

  @Test("private keys are for their owner alone, and are not overwritten")
  func keyFiles() async throws {
    try await Site.running { site in
      try await Self.publish(in: site)
      let path = site.folder.file("release.pem")
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(mode == 0o600)
      #expect(try await Self.failure(site, "key", "new", "release.pem").contains("a key is not overwritten"))
      try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
      #expect(
        try await Self.failure(site, "manifest", "sign", "--key", "release.pem")
          .contains("others may read the private key release.pem (mode 640): run \"chmod 600 release.pem\""))
    }
  }

  @Test("preload and doctor ask for the signatures of the keys of --root")
  func preload() async throws {
    try await Site.running { site in
      try await Self.publish(in: site)
      let preload = ["preload", "--manifest", "manifest.json", "--root", "1.root.json", "--store", "s"]
      let doctor = ["doctor", "--manifest", "manifest.json", "--root", "1.root.json", "--store", "s"]
      #expect(try await Command.start(preload, in: site.folder.path).result().status == 0)
      let well = try await Command.start(doctor, in: site.folder.path).result()
      #expect(well.output.contains("✓ signed     by the keys of root 1, until 20"), "\(well.output)")
      #expect(
        try await Command.start(Array(doctor.prefix(3)), in: site.folder.path).result().output.contains("– signed"))

      try site.write("var b", to: "pages/a.js")
      try await site.run("manifest", "build", "pages", "-o", "manifest.json")
      let refused = try await Command.start(preload, in: site.folder.path).result()
      #expect(refused.status == 1)
      #expect((refused.output + refused.error).contains("valid signatures of 0 trusted keys, 1 are needed"))
      #expect(try await Command.start(doctor, in: site.folder.path).result().output.contains("✗ signed"))
      #expect(
        try await Command.start(["cat", "a", "--store", "s"], in: site.folder.path).result().output == "var a")
    }
  }
}
