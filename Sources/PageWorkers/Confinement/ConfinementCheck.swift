import CLinux
import Foundation
import HTTPTransport
import PageKit
import PagePictures

/// `renderhost worker --check`: a confined process tries what a worker must not be able to do, upon this one.
struct ConfinementCheck {
  static let usage = "usage: renderhost worker --check [--pictures] [--json] [--without STEP]..."

  /// The steps that the confined process omits, to test the others alone.
  private var omitted: Set<Confinement.Step> = []
  private var isJSON = false
  /// `true` to try a worker that draws pages.
  private var draws = false

  /// - Returns: `nil` if the arguments are not those of ``usage``.
  init?(_ arguments: some Sequence<String>) {
    var arguments = Array(arguments)[...]
    while let argument = arguments.popFirst() {
      switch argument {
      case "--json": isJSON = true
      case "--pictures": draws = true
      case "--without":
        guard let step = arguments.popFirst().flatMap(Confinement.Step.init) else { return nil }
        omitted.insert(step)
      default: return nil
      }
    }
  }

  /// The results.
  struct Result: Codable {
    var confinement: ConfinementReport
    /// The result by attempt: `done`, or the reason of the failure.
    var attempts: [String: String] = [:]
    /// The results of attempts that a worker needs.
    var needs: [String: String] = [:]
    /// Attempts that succeeded and must not.
    var open: [String] = []
    /// Attempts that a worker needs and that failed.
    var missing: [String] = []
    /// The reason why nothing was tried; `nil` if it was.
    var problem: String?

    var isGood: Bool { open.isEmpty && missing.isEmpty }

    var text: String {
      var lines = ["given up: \(confinement.dropped.joined(separator: ", "))"]
      for (name, reason) in confinement.kept.sorted(by: { $0.key < $1.key }) {
        lines.append("could not be given up: \(name) (\(reason))")
      }
      for name in open { lines.append("a worker could \(name)" + (attempts[name].map { " (\($0))" } ?? "")) }
      for name in missing { lines.append("a worker needs to \(name): \(needs[name] ?? "")") }
      lines.append(
        "\(attempts.count) attacks tried, \(open.count) not refused; "
          + "\(needs.count) needs tried, \(missing.count) not met")
      return lines.joined(separator: "\n")
    }
  }

  // MARK: This side

  /// Prints the results, and exits with 0 if a worker can do what it needs and nothing else.
  func run() -> Never {
    do {
      let result = try result()
      print(isJSON ? try Self.json(result) : result.text)
      exit(result.isGood ? 0 : 1)
    } catch {
      FileHandle.standardError.write(Data("renderhost worker --check: \(error.sentence)\n".utf8))
      exit(1)
    }
  }

  private func result() throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("renderhost-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("file").path
    let contents = Data("what a worker must not see".utf8)
    guard FileManager.default.createFile(atPath: file, contents: contents, attributes: [.posixPermissions: 0o700])
    else { throw DescribedError("\(file) cannot be written") }
    let (tcp, port) = try Self.listening()
    defer { close(tcp) }
    let name = "renderhost-\(UUID().uuidString)"
    let abstract = try Self.listening(abstract: name)
    defer { close(abstract) }
    let target = ConfinementTarget(process: getpid(), file: file, port: port, abstractSocket: name)
    let before = try Self.state(of: file)
    var result = try attempt(target)
    if try Self.state(of: file) != before || FileManager.default.contents(atPath: file) != contents {
      result.open.append("change a file of its user")
    }
    let made = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0 != "file" }
    if !made.isEmpty { result.open.append("make files: \(made.sorted().joined(separator: ", "))") }
    return result
  }

  /// Runs all attempts in a confined process.
  private func attempt(_ target: ConfinementTarget) throws -> Result {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe")
    process.arguments =
      ["worker", "--attempt", try Self.json(target)] + (draws ? [WorkerMain.drawing] : [])
      + omitted.map(\.rawValue).sorted()
    let output = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard let result = try? JSONDecoder().decode(Result.self, from: data) else {
      throw DescribedError("the confined process ended with \(process.terminationStatus) and without a result")
    }
    if let problem = result.problem { throw DescribedError(problem) }
    return result
  }

  /// The mode, the owner and the time of the last change.
  private static func state(of file: String) throws -> [String] {
    let attributes = try FileManager.default.attributesOfItem(atPath: file)
    return [.posixPermissions, .ownerAccountID, .groupOwnerAccountID, .modificationDate].map {
      (key: FileAttributeKey) in
      attributes[key].map { "\($0)" } ?? ""
    }
  }

  private static func listening() throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isListening else { throw DescribedError("127.0.0.1: \(String(cString: strerror(errno)))") }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  private static func listening(abstract name: String) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    let isListening = abstractAddress(name).withUnsafeBytes { raw in
      guard let address = raw.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
      return bind(descriptor, address, socklen_t(raw.count)) == 0 && listen(descriptor, 8) == 0
    }
    guard isListening else { throw DescribedError("an abstract socket: \(String(cString: strerror(errno)))") }
    return descriptor
  }

  /// unix(7): the family, a zero byte, the name.
  static func abstractAddress(_ name: String) -> [UInt8] {
    withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) } + [0] + Array(name.utf8)
  }

  private static func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  // MARK: The other side

  /// Confines this process, runs all attempts, and prints the results.
  ///
  /// - Parameter arguments: the targets as JSON, ``WorkerMain/drawing`` for a worker that draws pages, and the omitted
  ///   steps.
  static func attempt(_ arguments: [String]) -> Never {
    guard
      var target = arguments.first.flatMap({ try? JSONDecoder().decode(ConfinementTarget.self, from: Data($0.utf8)) })
    else { exit(64) }
    let omitted = Set(arguments.dropFirst().compactMap(Confinement.Step.init))
    let draws = arguments.dropFirst().contains(WorkerMain.drawing)
    var fonts: [String]?
    if draws {
      do {
        fonts = try SystemFonts.preload()
      } catch {
        print((try? json(Result(confinement: ConfinementReport(), problem: "\(error)"))) ?? "")
        exit(1)
      }
      _ = ProcessThreads.waitForOthers()
      target.font = fonts?.lazy.compactMap(Self.file(below:)).first
    }
    // A worker has loaded it before too.
    _ = ScriptGroup.engineProblem
    // Landlock and the filter hold for the thread that asks for them, and for those that it starts.
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 1
    var result = Result(confinement: Confinement.apply(parent: target.process, fonts: fonts, omitting: omitted))
    let thread = "use a thread that is not confined"
    result.attempts[thread] = threads == 1 ? "there is none" : "done"
    if threads != 1 { result.open.append(thread) }
    for attempt in ConfinementAttempt.all(draws: draws) {
      let outcome = attempt.outcome(target)
      if attempt.isNeeded {
        result.needs[attempt.name] = outcome.text
        if outcome != .done { result.missing.append(attempt.name) }
      } else {
        result.attempts[attempt.name] = outcome.text
        if !outcome.isRefused { result.open.append(attempt.name) }
      }
    }
    print((try? json(result)) ?? "")
    exit(0)
  }

  /// A file in a folder or below it; `nil` if there is none.
  private static func file(below folder: String) -> String? {
    let found = FileManager.default.enumerator(
      at: URL(fileURLWithPath: folder), includingPropertiesForKeys: [.isRegularFileKey])
    for case let file as URL in found ?? FileManager.DirectoryEnumerator() {
      if (try? file.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true { return file.path }
    }
    return nil
  }
}

/// An attempt of a confined process: something that a worker must not be able to do, or that it needs.
struct ConfinementAttempt: Sendable {
  enum Outcome: Hashable, Sendable {
    case done
    /// The kernel forbade it, or there is nothing to reach.
    case refused(errno: Int32)
    /// Nothing forbade it; it failed for another reason, so that it may succeed elsewhere.
    case failed(errno: Int32)

    /// - Parameter result: of a system call that sets `errno`.
    init(_ result: Int) {
      let refusals = [EPERM, EACCES, ENOENT, ENOSYS, ENETUNREACH, ECONNREFUSED, EADDRNOTAVAIL]
      let error = errno
      self = result >= 0 ? .done : refusals.contains(error) ? .refused(errno: error) : .failed(errno: error)
    }

    var isRefused: Bool { if case .refused = self { true } else { false } }

    var text: String {
      switch self {
      case .done: "done"
      case .refused(let code): String(cString: strerror(code))
      case .failed(let code): "not refused: \(String(cString: strerror(code)))"
      }
    }
  }

  /// The text after "a worker could".
  let name: String
  /// `true` if a worker needs it.
  let isNeeded: Bool
  private let body: @Sendable (ConfinementTarget) -> Int

  /// - Parameter body: returns a negative number and sets `errno` if it fails.
  init(_ name: String, isNeeded: Bool = false, _ body: @escaping @Sendable (ConfinementTarget) -> Int) {
    (self.name, self.isNeeded, self.body) = (name, isNeeded, body)
  }

  func outcome(_ target: ConfinementTarget) -> Outcome { Outcome(body(target)) }
}

/// The targets of the attempts, which belong to the process that started the confined one.
struct ConfinementTarget: Codable, Sendable {
  let process: pid_t
  /// A file that its user may read and write, in a folder that its user may write.
  let file: String
  /// A port on 127.0.0.1.
  let port: UInt16
  /// The name of an abstract socket, without its leading zero byte.
  let abstractSocket: String
  /// A font of the system, for a worker that draws pages.
  var font: String?
}
