import ArgumentParser
import CLinux
import Foundation
import PageKit
import PageWorkers
import Releases

struct RootCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "root", abstract: "Make, change, sign and check the list of the keys that may sign.",
    discussion: """
      A root names the keys of roles: those of "root" sign the next root, those of "release" sign manifests. With the \
      role "online", hosts also ask for a status, which its keys sign: it says which release is current, and switches \
      bundles off ("manifest status"). A host begins with one root, and follows it to the newest: publish each as \
      VERSION.root.json, with its signatures, beside the manifest.
      """,
    subcommands: [New.self, Rotate.self, Sign.self, Verify.self])

  private typealias RoleKeys = (keys: [VerificationKey], threshold: Int)

  /// The life of a root, and where it is written.
  struct FileOptions: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("How long the root is valid.", valueName: "time"))
    var expiresIn = TimeArgument(days: 365)

    @Option(
      name: [.customShort("o"), .long],
      help: ArgumentHelp("The file to write; VERSION.root.json by default.", valueName: "file"), completion: .file())
    var output: String?

    /// Signs a root and writes it, with its signatures beside it. A root that is there stays as it is.
    ///
    /// - Returns: its path, and the keys that have signed.
    func write(_ root: TrustRoot, signedBy signers: SigningOptions) async throws -> (
      path: String, signed: Set<VerificationKey>
    ) {
      if let fault = root.fault { throw DescribedError("this cannot be a root: \(fault)") }
      let path = output ?? PublishedRoot.name(of: root.version)
      try checkAbsence(of: path)
      let bytes = try root.encoded()
      var signatures = try SignatureFile(of: bytes, as: .root)
      let signed = try await signers.sign(bytes, as: .root, in: &signatures)
      try OutputFile.write(Data(bytes), to: path, replaces: false)
      if !signed.isEmpty { try OutputFile.write(Data(signatures.encoded()), to: path + SignatureFile.suffix) }
      return (path, Set(signed))
    }

    private func checkAbsence(of path: String) throws {
      var status = stat()
      guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
      let next = (try? TrustRoot(file: path).version).map { version in
        """
        : hosts that began with it follow "bundlectl root rotate \(path)", and "bundlectl root sign \(path)" adds \
        signatures to it
        """
      }
      throw DescribedError("\(path) exists, and a root is not overwritten\(next ?? ": choose another name with -o")")
    }

    var expires: SignedTime {
      SignedTime.now.advanced(by: expiresIn.duration)
    }
  }

  struct New: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "new", abstract: "Make the first root.",
      discussion: """
        Keys are PEM files, private or public. The root is signed by each private one among its root keys. A root that \
        is there is not overwritten, as hosts trust it: change it with "root rotate".
        """
    )
    .with(examples: "bundlectl root new --root-key root.pem --release-key release.pem")

    @Option(
      name: .long, help: ArgumentHelp("A key that signs the next root. Repeatable.", valueName: "file"),
      completion: .file())
    var rootKey: [String]

    @Option(
      name: .long, help: ArgumentHelp("A key that signs manifests. Repeatable.", valueName: "file"),
      completion: .file())
    var releaseKey: [String]

    @Option(
      name: .long,
      help: ArgumentHelp(
        "A key that signs the status, such as that of a publishing host. Repeatable.", valueName: "file"),
      completion: .file())
    var onlineKey: [String] = []

    @Option(name: .long, help: ArgumentHelp("The root keys that a root needs.", valueName: "n"))
    var rootThreshold = 1

    @Option(name: .long, help: ArgumentHelp("The release keys that a manifest needs.", valueName: "n"))
    var releaseThreshold = 1

    @Option(name: .long, help: ArgumentHelp("The online keys that a status needs.", valueName: "n"))
    var onlineThreshold = 1

    @OptionGroup var file: FileOptions

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    func perform() async throws {
      var roles: [TrustRoot.Role: RoleKeys] = [
        .root: (try rootKey.map(KeyFile.verificationKey), rootThreshold),
        .release: (try releaseKey.map(KeyFile.verificationKey), releaseThreshold),
      ]
      if !onlineKey.isEmpty { roles[.online] = (try onlineKey.map(KeyFile.verificationKey), onlineThreshold) }
      let root = TrustRoot(version: 1, expires: file.expires, roles: roles)
      let signers = try SigningOptions.parse(rootKey.filter(KeyFile.isPrivate).map { "--key=\($0)" })
      let (path, signed) = try await file.write(root, signedBy: signers)
      let missing = max(0, rootThreshold - signed.count)
      if json {
        return try RootCommand.printJSON(root, at: path, signedBy: signed.map(\.id.hex).sorted(), isValid: missing == 0)
      }
      RootCommand.show(root, at: path, missing: missing)
    }
  }

  struct Rotate: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "rotate", abstract: "Make the root that follows another one.",
      discussion: """
        It has to be signed by as many keys as the old root asks for, and as the new one asks for. Those of --key sign \
        now; others add theirs with "root sign".
        """
    )
    .with(examples: "bundlectl root rotate 1.root.json --add-release-key next.pem --key root.pem")

    @Argument(help: ArgumentHelp("The newest root.", valueName: "file"), completion: .file(extensions: ["json"]))
    var root: String

    @Option(name: .long, help: ArgumentHelp("A key to add. Repeatable.", valueName: "file"), completion: .file())
    var addRootKey: [String] = []

    @Option(name: .long, help: ArgumentHelp("A key to add. Repeatable.", valueName: "file"), completion: .file())
    var addReleaseKey: [String] = []

    @Option(name: .long, help: ArgumentHelp("A key to add. Repeatable.", valueName: "file"), completion: .file())
    var addOnlineKey: [String] = []

    @Option(
      name: .long, help: ArgumentHelp("A key to remove: its id, or a file. Repeatable.", valueName: "id|file"),
      completion: .file())
    var removeRootKey: [String] = []

    @Option(
      name: .long, help: ArgumentHelp("A key to remove: its id, or a file. Repeatable.", valueName: "id|file"),
      completion: .file())
    var removeReleaseKey: [String] = []

    @Option(
      name: .long,
      help: ArgumentHelp(
        "A key to remove: its id, or a file. Repeatable. Without keys the role is gone, and hosts ask for no status.",
        valueName: "id|file"),
      completion: .file())
    var removeOnlineKey: [String] = []

    @Option(
      name: .long, help: ArgumentHelp("The root keys that a root needs; as before by default.", valueName: "n"))
    var rootThreshold: Int?

    @Option(
      name: .long, help: ArgumentHelp("The release keys that a manifest needs; as before by default.", valueName: "n"))
    var releaseThreshold: Int?

    @Option(
      name: .long, help: ArgumentHelp("The online keys that a status needs; as before by default.", valueName: "n"))
    var onlineThreshold: Int?

    @OptionGroup var file: FileOptions
    @OptionGroup var signing: SigningOptions

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    func perform() async throws {
      let old = try TrustRoot(file: root)
      var roles: [TrustRoot.Role: RoleKeys] = [
        .root: try changed(old, .root, adding: addRootKey, removing: removeRootKey, rootThreshold),
        .release: try changed(old, .release, adding: addReleaseKey, removing: removeReleaseKey, releaseThreshold),
      ]
      let online = try changed(old, .online, adding: addOnlineKey, removing: removeOnlineKey, onlineThreshold)
      if !online.keys.isEmpty { roles[.online] = online }
      let next = TrustRoot(version: old.version + 1, expires: file.expires, roles: roles)
      for key in try signing.verificationKeys() where !next.isSigned(by: key, after: old) {
        throw DescribedError("neither \(root) nor its successor lists the key \(key.id) for roots: it cannot sign")
      }
      let (path, signed) = try await file.write(next, signedBy: signing)
      try RootCommand.showSuccessor(of: old, at: path, signedBy: signed, json: json)
    }

    private func changed(
      _ old: TrustRoot, _ role: TrustRoot.Role, adding added: [String], removing removed: [String], _ threshold: Int?
    ) throws -> RoleKeys {
      var keys = old.keys(of: role)
      for text in removed {
        let id = try SHA256Digest(hex: text) ?? KeyFile.verificationKey(text).id
        guard keys.contains(where: { $0.id == id }) else {
          throw DescribedError("\(root): its role \"\(role.rawValue)\" has no key \(id)")
        }
        keys.removeAll { $0.id == id }
      }
      keys += try added.map(KeyFile.verificationKey)
      return (keys, threshold ?? old.roles[role]?.threshold ?? 1)
    }
  }

  struct Sign: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "sign", abstract: "Add signatures to a root.",
      discussion: """
        The root before it, VERSION.root.json in the same folder, or the root itself must list the keys for roots.
        """
    )
    .with(examples: "bundlectl root sign 2.root.json --key other.pem")

    @Argument(help: ArgumentHelp("The root.", valueName: "file"), completion: .file(extensions: ["json"]))
    var root: String

    @OptionGroup var signing: SigningOptions

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    func validate() throws {
      if signing.isEmpty { throw SigningOptions.noSigner }
    }

    func perform() async throws {
      let (bytes, read) = try InputFile.read(root) { ($0, try TrustRoot(reading: $0)) }
      try checkKeys(of: read)
      let signed = try await signing.sign(bytes, as: .root, at: root)
      if json { return try RootCommand.printJSON(read, at: root, signedBy: signed.map(\.id.hex), isValid: nil) }
      for key in signed {
        Terminal.output.line("\(root)\(SignatureFile.suffix): root \(read.version), signed by \(key.id)")
      }
    }

    /// Checks that hosts will count the signatures.
    private func checkKeys(of next: TrustRoot) throws {
      let folder = (root as NSString).deletingLastPathComponent as NSString
      let former = next.version > 1 ? folder.appendingPathComponent(PublishedRoot.name(of: next.version - 1)) : nil
      let old = try former.flatMap { FileManager.default.fileExists(atPath: $0) ? try TrustRoot(file: $0) : nil }
      for key in try signing.verificationKeys() where !next.isSigned(by: key, after: old) {
        let rest = former.map { old == nil ? ", and the one before, \($0), is not there" : ", nor does \($0)" } ?? ""
        throw DescribedError(
          "\(root) does not list the key \(key.id) for roots\(rest): hosts would not count its signature")
      }
    }
  }

  struct Verify: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify", abstract: "Follow roots from one that is trusted to the newest."
    )
    .with(examples: "bundlectl root verify 1.root.json 2.root.json")

    @Argument(
      help: ArgumentHelp("The trusted root, and those that follow it in their order.", valueName: "file"),
      completion: .file(extensions: ["json"]))
    var roots: [String]

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    func perform() throws {
      guard let first = roots.first, let last = roots.last else { throw ValidationError("Name a root.") }
      var root = try TrustRoot(file: first)
      for path in roots.dropFirst() {
        let bytes = try InputFile.bytes(path)
        do {
          root = try root.successor(bytes, try SignatureFile(beside: path))
        } catch let error as TrustError {
          throw DescribedError("\(path): \(error.message)")
        }
      }
      do {
        try root.checkExpiry(at: .now)
      } catch {
        throw DescribedError("\(last): \(error.message)")
      }
      if json { return try RootCommand.printJSON(root, at: last, signedBy: nil, isValid: true) }
      Terminal.output.line("\(last) is trusted: root \(root.version), \(RootCommand.summary(root))")
    }
  }

  // MARK: Output

  /// Prints the JSON of all of these commands.
  ///
  /// - Parameters:
  ///   - signedBy: the keys that have signed now.
  ///   - isValid: `true` if hosts take it; `nil` if that was not checked.
  private static func printJSON(_ root: TrustRoot, at path: String, signedBy: [String]?, isValid: Bool?) throws {
    let roles = root.roles.map { role, entry -> (String, JSONObject) in
      (role.rawValue, ["keys": entry.keys.map(\.hex).sorted(), "threshold": entry.threshold])
    }
    let object: JSONObject = [
      "root": path, "version": root.version, "expires": root.expires.description,
      "roles": Dictionary(roles) { first, _ in first },
    ]
    try JSONOutput.print(object.adding(ifPresent: ["signedBy": signedBy, "valid": isValid]))
  }

  private static func show(_ root: TrustRoot, at path: String, missing: Int) {
    let rest =
      missing > 0 ? "; it needs \(Formatting.count(missing, "more signature")), by \"bundlectl root sign\"" : ""
    Terminal.output.line("\(path): root \(root.version), \(summary(root))\(rest)")
  }

  private static func showSuccessor(
    of old: TrustRoot, at path: String, signedBy: Set<VerificationKey>, json: Bool
  ) throws {
    let (bytes, root) = try InputFile.read(path) { ($0, try TrustRoot(reading: $0)) }
    func printJSON(isValid: Bool) throws {
      try Self.printJSON(root, at: path, signedBy: signedBy.map(\.id.hex).sorted(), isValid: isValid)
    }
    do {
      _ = try old.successor(bytes, try SignatureFile(beside: path))
      if json { return try printJSON(isValid: true) }
      Terminal.output.line("\(path): root \(root.version), \(summary(root))")
    } catch let error as TrustError {
      if json { return try printJSON(isValid: false) }
      Terminal.output.line(
        "\(path): root \(root.version), \(summary(root)); not valid yet: \(error), by \"bundlectl root sign\""
      )
    }
  }

  private static func summary(_ root: TrustRoot) -> String {
    let roles = TrustRoot.Role.allCases.compactMap { role in
      root.roles[role].map { "\($0.threshold) of \($0.keys.count) for \(role.rawValue)" }
    }
    return "keys \(roles.joined(separator: ", ")), until \(root.expires)"
  }
}

extension TrustRoot {
  /// Returns `true` if hosts count a key's signature of this root, which follows another one.
  fileprivate func isSigned(by key: VerificationKey, after old: TrustRoot?) -> Bool {
    [self, old].contains { $0?.roles[.root]?.keys.contains(key.id) == true }
  }
}

extension TrustRoot {
  /// Reads a root in a file.
  ///
  /// - Throws: ``DescribedError``.
  init(file path: String) throws { self = try InputFile.read(path) { try TrustRoot(reading: $0) } }
}
