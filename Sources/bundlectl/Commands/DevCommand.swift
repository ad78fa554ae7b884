import ArgumentParser
import CLinux
import Foundation
import HTTPTransport
import Logging
import PageKit
import PageWorkers
import RenderHost
import ServerKit
import Synchronization

struct DevCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "dev",
    abstract: "Use pages in a browser while you write them.",
    discussion: """
      Serves the bundles of a folder, or those that are named, on this machine. A browser shows a page and uses it, its \
      script runs in a confined process, and each save of its file shows the new one at once. What was tapped and typed \
      is done again on the new script, and what was scrolled stays. An error is shown over the page, with the lines of the \
      source that its map names; the page that ran stays behind it.

      Chrome's developer tools attach to the pages: add the address to the targets of chrome://inspect.

      Ends when it is interrupted (130), or with 1 if it cannot listen.
      """
  )
  .with(
    examples: "bundlectl dev dist", "bundlectl dev dist/home.js --data '{\"user\": \"Ann\"}'",
    "bundlectl dev dist --run 'npx webpack --watch'", "bundlectl dev dist --lan",
    "bundlectl dev dist --record run.recording")

  @Argument(
    help: ArgumentHelp(
      "A folder with bundles, or bundles. (default: dist if it is there, else this folder)", valueName: "dir|file"),
    completion: .file())
  var paths: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The address and the port to listen on. (default: 127.0.0.1 and 8090 or the next free port)",
      valueName: "host:port"))
  var listen: String?

  @Flag(
    name: .long,
    help: "Serve other machines too, such as a phone: those that open the URL that is shown, which has a ticket in it.")
  var lan = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The address of this machine that --lan shows. (default: that of the default route)", valueName: "address"))
  var advertise: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A command of the shell that runs meanwhile, such as a bundler that watches. Its end is reported.",
      valueName: "command"))
  var run: String?

  @Option(
    name: .long, help: ArgumentHelp("The data of pages, as JSON, or @FILE.", valueName: "json|@file"))
  var data: String?

  @Option(
    name: .long,
    help: ArgumentHelp("The framework's script for pages that need one: Vue, Rax or Weex.", valueName: "file"),
    completion: .file())
  var framework: String?

  @Option(
    name: .long, help: ArgumentHelp("A script that runs in a page before its bundle.", valueName: "file"),
    completion: .file())
  var prelude: String?

  @Option(
    name: .customLong("env"),
    help: ArgumentHelp("A member of WXEnvironment. Repeatable.", valueName: "key=value"))
  var environment: [MemberArgument] = []

  @Option(
    name: .customLong("node-env"),
    help: ArgumentHelp("The value of process.env.NODE_ENV in the page and its framework.", valueName: "name"))
  var nodeEnvironment = "development"

  @Flag(
    name: .customLong("replay-on-reload"), inversion: .prefixedNo,
    help: "Do again what was tapped and typed, when a page was saved.")
  var replays = true

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Record each run of a page, for bundlectl replay.",
      discussion:
        "run.recording has the files run-1.recording, run-2.recording and so on; the latest 100 of a session are kept.",
      valueName: "file"),
    completion: .file())
  var record: String?

  @OptionGroup var scriptTime: ScriptTimeOptions

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The memory limit of a process that runs pages: 256MB, 1GB. (default: 512MB)", valueName: "size"))
  var memory: SizeArgument?

  func validate() throws {
    guard !lan || listen == nil else {
      throw ValidationError("--lan listens on all addresses: it cannot be used with --listen.")
    }
    guard advertise == nil || lan else { throw ValidationError("--advertise belongs to --lan.") }
    if let listen, let host = SettingText.address(listen)?.host, !ListenerPlan.isLoopback(host) {
      throw ValidationError(
        "--listen takes an address of this machine alone, such as 127.0.0.1:8090: --lan serves others.")
    }
    if let advertise, HostAddress(advertise) == nil {
      throw ValidationError("--advertise must be an IP address; \(advertise.quotedForMessage) is not.")
    }
    if let record, record.isEmpty || record.hasSuffix("/") {
      throw ValidationError("--record must be the name of a file, such as run.recording.")
    }
    if let run, run.allSatisfy(\.isWhitespace) { throw ValidationError("--run has no command.") }
    if let listen, SettingText.address(listen) == nil {
      throw ValidationError(
        "--listen must be an address and a port, such as 127.0.0.1:8090; \(listen.quotedForMessage) is not.")
    }
    try RenderCommand.check(memory)
    try DeterminismOptions.check(nodeEnvironment, of: "node-env")
    if let data, !data.hasPrefix("@") { _ = try ScriptValue(argument: data) }
  }

  func run() async throws {
    let folder = try WorkingFolder(
      paths.isEmpty ? [FileManager.default.fileExists(atPath: "dist") ? "dist" : "."] : paths, isMade: run != nil)
    let data = try data.map { try ScriptValue(argument: $0) } ?? [:]
    for (name, file) in [("framework", framework), ("prelude", prelude)] {
      _ = try RenderCommand.script(name, file)
    }
    if let record {
      let parent = URL(fileURLWithPath: record).deletingLastPathComponent().path
      guard access(parent, W_OK) == 0 else {
        throw DescribedError(
          "\(record) cannot be written: \(parent): \(String(cString: strerror(errno)))")
      }
    }
    try await EphemeralStore.using(if: true, else: .standard()) { store in
      var settings = DevelopmentHost.Settings(folder, store: store)
      (settings.address, settings.port) = try address()
      if lan { settings.ticket = BrowserSessions.secret() }
      settings.data = data.json
      settings.environment = Dictionary(environment.map { ($0.key, $0.value) }) { $1 }
      (settings.framework, settings.prelude) = (framework, prelude)
      settings.nodeEnvironment = nodeEnvironment
      settings.pageTime = scriptTime.limit
      if let memory { settings.memory = memory.bytes }
      settings.repeatsInputs = replays
      settings.recording = record
      let output = DevelopmentOutput(settings: settings, advertised: advertise)
      let host = try DevelopmentHost(
        settings, logger: Logger(label: "bundlectl") { _ in SwiftLogNoOpLogHandler() }, tell: output.tell)
      EphemeralStore.whenRemoved { host.endRecordings() }
      let child = try run.map { try ShellCommand($0) }
      defer { child?.end() }
      try await host.run()
    }
  }

  /// The address to listen on, with a port that is free.
  private func address() throws -> (String, Int) {
    if let listen, let address = SettingText.address(listen) { return address }
    let host = lan ? "0.0.0.0" : "127.0.0.1"
    let first = 8090
    let port = (first..<first + 100).first { Self.isFree($0, of: host) }
    guard let port else {
      throw DescribedError("the ports \(first) to \(first + 99) are in use: name another one with --listen")
    }
    return (host, port)
  }

  /// Returns `true` if a program could listen on a port now.
  private static func isFree(_ port: Int, of host: String) -> Bool {
    let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard file >= 0 else { return false }
    defer { close(file) }
    var reuse: Int32 = 1
    setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(clamping: port)).bigEndian
    inet_pton(AF_INET, host, &address.sin_addr)
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(file, $0, size) }
    }
    return result == 0 && Glibc.listen(file, 1) == 0
  }
}

/// The lines that `bundlectl dev` prints.
private final class DevelopmentOutput: Sendable {
  private let settings: DevelopmentHost.Settings
  private let advertised: String?
  /// The news of a bundle that was told last: it may be open several times.
  private let last = Mutex<(text: String, time: ContinuousClock.Instant)?>(nil)

  init(settings: DevelopmentHost.Settings, advertised: String?) {
    (self.settings, self.advertised) = (settings, advertised)
  }

  /// Returns `true` if the same was told within a second.
  private func repeats(_ news: DevelopmentHost.News, at now: ContinuousClock.Instant) -> Bool {
    let text: String
    switch news {
    case .reloaded(let name, let md5, _, let inputs, let stopped):
      text = "\(name) \(md5.hex) \(inputs) \(stopped ?? "")"
    case .fault(let name, let report): text = "\(name) \(report)"
    case .removed(let name): text = FaultReporter.removal(name)
    case .returned(let name): text = FaultReporter.returning(name)
    case .listening, .warning, .recorded: return false
    }
    return last.withLock { last in
      if let last, last.text == text, now - last.time < .seconds(1) { return true }
      last = (text, now)
      return false
    }
  }

  func tell(_ news: DevelopmentHost.News) {
    if repeats(news, at: .now) { return }
    switch news {
    case .listening(let port): listening(on: port)
    case .reloaded(let name, _, let took, let inputs, let stopped):
      var text = "\(name).js was saved, and runs again after \(took.inMilliseconds)"
      if inputs > 0 { text += ": \(Formatting.count(inputs, "input")) done again" }
      if let stopped { text += ", and no element fits the next one (\(stopped))" }
      line(text)
    case .fault(let name, let report):
      line("\(name).js: \(report.message)", .red)
      if let place = report.place { Terminal.error.line("  \(Self.clean(place))") }
      for shown in report.lines {
        let text = "\(shown.number == report.line ? ">" : " ") \(shown.number)  \(Self.clean(shown.text))"
        Terminal.error.line(Terminal.error.styled("  \(text)", shown.number == report.line ? .bold : .dim))
      }
    case .removed(let name): line(FaultReporter.removal(name), .yellow)
    case .returned(let name): line(FaultReporter.returning(name))
    case .recorded(let name, let path): line("\(name).js is recorded in \(path)", .dim)
    case .warning(let text): Terminal.report(text, .yellow)
    }
  }

  private func line(_ text: String, _ style: Terminal.Style? = nil) {
    let time = Terminal.error.styled(Date().formatted(date: .omitted, time: .standard), .dim)
    let text = Self.clean(text)
    Terminal.error.line("\(time) \(style.map { Terminal.error.styled(text, $0) } ?? text)")
  }

  /// A text of a page, without what a terminal would take for commands.
  private static func clean(_ text: String) -> String {
    text.unicodeScalars.prefix(1_000).text(replacingControls: { $0 == "\t" || $0 == "\n" ? " " : "\u{FFFD}" })
  }

  private func listening(on port: Int) {
    let listing = settings.folder.bundles()
    for text in listing.leftOut { line(text, .yellow) }
    let names = listing.names
    let what =
      names.count == 1 ? "\(names[0]).js" : "\(Formatting.count(names.count, "bundle")) in \(settings.folder.path)"
    guard let ticket = settings.ticket else {
      let url = "http://\(SettingText.bracketed(settings.address)):\(port)/"
      Terminal.output.line("\(what): \(Terminal.output.styled(url, .bold))")
      if settings.recording != nil { Terminal.output.line("steps: \(url)steps") }
      return
    }
    let found = DevAddress.ofSystem(advertised: advertised)
    let url = "http://\(found.address ?? "127.0.0.1"):\(port)/?\(BrowserSessions.parameter)=\(ticket)"
    Terminal.output.line("\(what), for all who have this URL: \(Terminal.output.styled(url, .bold))")
    for hint in found.hints { Terminal.error.line(Terminal.error.styled("bundlectl: another address: \(hint)", .dim)) }
    guard found.address != nil, Terminal.output.isTerminal, let code = QRCode(url),
      code.columns <= Terminal.output.width
    else { return }
    for line in code.lines(isColoured: Terminal.output.isColoured) { Terminal.output.line(line) }
  }
}

extension Duration {
  fileprivate var inMilliseconds: String { "\(Int((seconds * 1_000).rounded())) ms" }
}

/// A command of the shell that runs beside this one, with its output. Its end is reported, unless it is ended from here.
///
/// Foundation's `Process` would give it the signals that this program ignores.
private final class ShellCommand: Sendable {
  private enum State: Equatable {
    case starting
    /// The process leads a group of its own.
    case running(pid_t)
    case ending(pid_t)
    case ended
  }

  private let state = Mutex(State.starting)

  /// - Throws: ``DescribedError`` if the shell cannot be started.
  init(_ text: String) throws {
    // Before the start: a signal may come at any time.
    EphemeralStore.whenRemoved { [weak self] in self?.end() }
    let id = try state.withLock { state in
      guard state == .starting else { throw CancellationError() }
      let id = try Self.start(text)
      state = .running(id)
      return id
    }
    Thread.detachNewThread { [self] in
      var found = siginfo_t()
      while waitid(P_PID, id_t(id), &found, WEXITED | WNOWAIT) < 0, errno == EINTR {}
      // From here on the number may be that of another process.
      let (status, wasEnded) = state.withLock { state in
        var status: Int32 = 0
        waitpid(id, &status, 0)
        defer { state = .ended }
        return (status, state == .ending(id))
      }
      guard !wasEnded else { return }
      let how = status & 0x7f == 0 ? "status \(status >> 8 & 0xff)" : "signal \(status & 0x7f)"
      Terminal.report("\(text) has ended with \(how)", .yellow)
    }
  }

  private static func start(_ text: String) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    let environment = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
    do {
      return try ChildProcess.start("/bin/sh", ["sh", "-c", text], environment: environment, &actions)
    } catch {
      throw DescribedError("/bin/sh cannot be started: \(error.message)")
    }
  }

  /// Ends the command, with all that it has started, and waits for its end: whoever calls this may be about to end this
  /// process.
  func end() {
    let id: pid_t? = state.withLock { state in
      switch state {
      case .starting:
        state = .ended
        return nil
      case .running(let id):
        state = .ending(id)
        kill(-id, SIGTERM)
        return id
      case .ending(let id): return id
      case .ended: return nil
      }
    }
    guard let id else { return }
    // The thread that waits for it notes its end.
    for _ in 0..<50 {
      if state.withLock({ $0 == .ended }) { return }
      usleep(10_000)
    }
    state.withLock { if $0 == .ending(id) { _ = kill(-id, SIGKILL) } }
  }
}
