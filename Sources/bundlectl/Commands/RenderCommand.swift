import ArgumentParser
import Foundation
import PageKit
import PageWorkers

struct RenderCommand: JSONCommand {
  static let configuration = CommandConfiguration(
    commandName: "render",
    abstract: "Run a bundle and show its elements.",
    discussion: """
      Takes a bundle's name in the manifest, its URL, or a file. Names and URLs open as in an app: from the store if \
      the stored bytes have the server's MD5, else from the network. A file runs as it is.

      The script's log and errors go to standard error. If the bundle names a source map, errors have the lines of \
      its sources. Exit status: 0 on success, 1 when the page could not open, created no body, or its script threw; \
      --fail-on adds further reasons.

      The page is shown when it has no pending work: requests, pictures, and timers that are due soon. Work that is \
      still pending is reported.

      Examples:
      """ + "\n" + HelpText.unbroken(examples))

  private static let examples = """
      bundlectl render home --manifest https://pages.example.com/manifest.json
      bundlectl render dist/home.js --watch
      bundlectl render dist/home.js --format html -o home.html
      bundlectl render dist/home.js --format png --size 375x812@2 -o home.png
      bundlectl render home --fire 12:click --format commands
      bundlectl render dist/home.js --time 2026-01-01T00:00:00Z --seed 7
      bundlectl render dist/home.js --ephemeral --json --fail-on error > home.json
    """

  enum Format: String, ExpressibleByArgument, CaseIterable {
    case outline, json, html, png, svg, commands

    /// The format of a picture; `nil` for texts.
    var picture: PictureOptions.Format? {
      switch self {
      case .png: .png
      case .svg: .svg
      case .outline, .json, .html, .commands: nil
      }
    }
  }

  enum FailOn: String, ExpressibleByArgument, CaseIterable {
    case exception, error, warning

    /// Levels of log lines that fail a run.
    var levels: Set<String> {
      switch self {
      case .exception: []
      case .error: ["error"]
      case .warning: ["error", "warn"]
      }
    }
  }

  enum Policy: String, ExpressibleByArgument, CaseIterable {
    case networkFirst, cacheFirst, staleWhileRevalidate, cacheOnly, networkOnly

    /// - Parameter deadline: of `networkFirst`; `nil` for the library's.
    func policy(deadline: Duration?) -> OpenPolicy {
      switch self {
      case .networkFirst: deadline.map { .networkFirst(deadline: $0) } ?? .networkFirst()
      case .cacheFirst: .cacheFirst
      case .staleWhileRevalidate: .staleWhileRevalidate
      case .cacheOnly: .cacheOnly
      case .networkOnly: .networkOnly
      }
    }
  }

  @Argument(
    help: "The bundle: a file if there is one of that name, its URL, or its name in the manifest.",
    completion: Completions.bundlesAndFiles)
  var bundle: String

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The format: outline, json, html, png, svg or commands.",
      discussion: """
        One element per line; the tree as JSON; a page for a browser; a picture, without a browser; or the script's \
        changes to the tree, in order.
        """))
  var format = Format.outline

  @Option(
    name: [.customShort("o"), .customLong("output")], help: ArgumentHelp("The file to write.", valueName: "file"),
    completion: .file())
  var output: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The screen of a picture in points, with the pixels of a point: 375x812@2. (default: 375x667@2)",
      discussion: "The page is laid out for it, and its script finds it in WXEnvironment, unless --env says otherwise.",
      valueName: "screen"))
  var size: PictureOptions.Screen?

  @Flag(name: .long, help: "Draw all of the page, also what is below the screen.")
  var full = false

  @Flag(inversion: .prefixedNo, help: "Embed pictures and fonts in the HTML, so that it needs no other files.")
  var embed = true

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Fire an event once the page has settled. Repeatable, in order.",
      discussion: """
        The ref is the number behind # in the outline: --fire 12:click. A JSON object, or @FILE with one, has the \
        event's members: --fire '12:input:{"value": "Ann"}'. As {event, changes} it also has the user's changes of \
        the element: {"changes": {"attrs": {"value": "Ann"}}}.
        """, valueName: "ref:type[:json]"))
  var fire: [FiredEvent] = []

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Record the page into a file, for bundlectl replay.",
      discussion: """
        The file has the bundle, all that enters its script, such as events, answers and timers, and the elements. \
        Whoever has it can read what the page was told.
        """, valueName: "file"), completion: .file())
  var record: String?

  @Flag(name: .long, help: "Show the time of each stage, on standard error and in --json.")
  var timings = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The least severe event for exit status 1: exception, error or warning.",
      discussion: """
        exception: an exception, or a page without a body. error: also lines of console.error. warning: also lines of \
        console.warn, and modules and components that are not registered.
        """))
  var failOn = FailOn.exception

  @Flag(
    name: .long,
    help: "Start from an empty state and keep none: no store, no cache, no cookies, no storage.")
  var ephemeral = false

  @Flag(
    name: .long,
    help: """
      Render again whenever the file, its source map, the data or the framework changes, or, for a bundle of a server, \
      when the server has another release or other bytes; until interrupted.
      """)
  var watch = false

  @Option(
    name: .long,
    help: ArgumentHelp("The page's data: a JSON object, or @FILE with one.", valueName: "json"))
  var data: String?

  @Option(
    name: .long,
    help: ArgumentHelp("The framework file for bundles that need one: Vue, Rax, Weex.", valueName: "file"),
    completion: .file(extensions: ["js"]))
  var framework: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A script to run in the page before the bundle: weex-rax-api.js for Rax 1.", valueName: "file"))
  var prelude: String?

  @Option(
    name: .customLong("env"),
    help: ArgumentHelp(
      "A member of WXEnvironment. Repeatable.",
      discussion: "The value is read as JSON if it is valid JSON, else as text: --env platform=android --env scale=3.",
      valueName: "key=value"))
  var environment: [MemberArgument] = []

  @OptionGroup var determinism: DeterminismOptions

  @Option(name: .long, help: ArgumentHelp("The longest wait for the page's requests.", valueName: "time"))
  var wait = TimeArgument(seconds: 10)

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Wait for timers that are due within this time: 200ms, 1.5s, 0. (default: 200ms)", valueName: "time"))
  var timers: TimeArgument?

  @Flag(name: .long, help: "Show the elements' styles in the outline.")
  var styles = false

  @Option(
    name: [.short, .long],
    help: ArgumentHelp(
      "How the store and the server are used to open it.",
      discussion: """
        networkFirst waits for the server up to --deadline; cacheFirst asks it only if nothing is stored; \
        staleWhileRevalidate shows the stored bundle and then asks it; cacheOnly never asks it; networkOnly shows \
        only bytes that it has confirmed.
        """, valueName: "policy"))
  var policy = Policy.networkFirst

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The longest wait of networkFirst if a bundle is stored: 500ms, 3s. (default: 2s)",
      valueName: "time"))
  var deadline: TimeArgument?

  @Flag(name: .long, help: "Use no network: show the stored bundle.")
  var offline = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The memory limit of the page's process: 256MB, 1GB. (default: 512MB)",
      discussion: "A page that exceeds it is stopped, and the exit status is 1.", valueName: "size"))
  var memory: SizeArgument?

  @OptionGroup var scriptTime: ScriptTimeOptions

  @Flag(
    name: .long,
    help: """
      Run the page in the command's own process: with web sockets, but without confinement, without a memory limit, \
      and without a stop for endless chains of promises. Only for bundles that you trust.
      """)
  var inProcess = false

  @OptionGroup var source: SourceOptions
  @OptionGroup var store: StoreOptions

  mutating func validate() throws {
    guard deadline == nil || policy == .networkFirst else {
      throw ValidationError("--deadline belongs to --policy networkFirst: \(policy) has none.")
    }
    guard !ephemeral || !store.place.isGiven else {
      throw ValidationError("--ephemeral uses no store: it cannot be used with --store.")
    }
    guard wait.isWithin(0...3600) else { throw ValidationError("--wait must be from 0 to 3600 seconds.") }
    guard !inProcess || memory == nil else {
      throw ValidationError("--memory limits the page's process: it cannot be used with --in-process.")
    }
    try Self.check(memory)
    guard !styles || format == .outline else { throw ValidationError("--styles belongs to --format outline.") }
    guard format.picture != nil || size == nil && !full else {
      throw ValidationError("--size and --full belong to --format png and svg.")
    }
    if let size, size.pixels > Double(PictureOptions.pixelLimit) {
      throw ValidationError("--size \(size) has more than \(PictureOptions.pixelLimit) pixels, which is the limit.")
    }
    guard format.picture == nil || output != nil || store.json || !Terminal.output.isTerminal else {
      throw ValidationError("--format \(format) writes a picture, which no terminal shows: name a file with -o FILE.")
    }
    guard !watch || record == nil else {
      throw ValidationError("--record records one opening: it cannot be used with --watch.")
    }
    guard !watch || !store.json else {
      throw ValidationError("--json prints one object: it cannot be used with --watch.")
    }
    if let data, !data.hasPrefix("@") { _ = try ScriptValue(argument: data) }
    for event in fire where ScriptValue.file(inArgument: event.data) == nil { _ = try event.read() }
  }

  /// The minimum for a process that opens its first page.
  private static let leastMemory: Int64 = 128 << 20

  /// - Throws: `ValidationError` for a memory limit that no engine starts with.
  static func check(_ memory: SizeArgument?) throws {
    guard (memory?.bytes ?? .max) >= leastMemory else {
      throw ValidationError("--memory must be at least \(leastMemory >> 20)MB.")
    }
  }

  private var limits: WorkerLimits {
    WorkerLimits(time: scriptTime.limit, memory: inProcess ? nil : memory?.bytes ?? 512 << 20)
  }

  var json: Bool { store.json }

  func perform() async throws {
    try store.check()
    let target = try RenderTarget(bundle)
    guard watch else {
      guard try await render(target) else { throw ExitCode.failure }
      return
    }
    if target.filePath == nil { try await renderOnUpdates(target) } else { try await renderOnChanges(target) }
  }

  private func renderOnChanges(_ target: RenderTarget) async throws {
    while true {
      // The state of the files is taken before they are read, so that no change is missed.
      let files = watchedFiles(target)
      let former = files.map(Self.status)
      do {
        // A new host each time, since the framework may differ.
        _ = try await render(target)
      } catch let error as DescribedError {
        // The next change may repair it.
        Terminal.report(error.message, .red)
      }
      // Polling works on every file system and with every editor, which may remove the file briefly.
      repeat {
        try await Task.sleep(for: .milliseconds(100))
      } while files.first.flatMap(Self.status) == nil || files.map(Self.status) == former
      showTime()
    }
  }

  private static func status(of path: String) -> FileStatus? {
    FileStatus(ofLink: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
  }

  private func showTime() {
    Terminal.error.line(Terminal.error.styled("── \(Date().formatted(date: .omitted, time: .standard))", .dim))
  }

  /// Renders a server's bundle again whenever the server has a newer version.
  private func renderOnUpdates(_ target: RenderTarget) async throws {
    guard !offline, policy != .cacheOnly else {
      throw ValidationError("--watch asks the server for changes: it cannot be used with --offline or cacheOnly.")
    }
    try await EphemeralStore.using(if: ephemeral, else: store.directory) { directory in
      try await using(target, in: directory) { host in
        while true {
          _ = try await render(target, host)
          try await update(of: target, on: host)
          showTime()
        }
      }
    }
  }

  /// Polls the server, and returns when its bytes or its release differ from those shown.
  private func update(of target: RenderTarget, on host: PageHost) async throws {
    let url = try await target.url(host).url
    let shown = try? await host.bundles.load(url, options: OpenOptions(policy: .cacheOnly))
    var said: String?
    while true {
      try await Task.sleep(for: .seconds(1))
      var failure: String?
      do {
        try await host.refresh()
      } catch SourceError.noManifest {
        // Without a manifest the bundle itself is polled.
      } catch {
        failure = error.message
      }
      do {
        let newest = try await host.bundles.load(url, options: OpenOptions(policy: .networkOnly))
        if newest.md5 != shown?.md5 || newest.view != shown?.view { return }
      } catch {
        failure = failure ?? error.message
      }
      try Task.checkCancellation()
      if failure != said { show(failure) }
      said = failure
    }
  }

  /// Reports that the server cannot be reached, or can again; the shown page stays.
  private func show(_ failure: String?) {
    guard let failure else { return Terminal.report("the server answers again") }
    Terminal.report("no news of the server: \(failure)", .yellow)
  }

  /// The bundle first, then the other files of the rendering.
  private func watchedFiles(_ target: RenderTarget) -> [String] {
    guard let path = target.filePath else { return [] }
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    let map = SourceMap.reference(in: text).flatMap { PageURL(filePath: path)?.resolving($0)?.filePath }
    return [path] + [map, ScriptValue.file(inArgument: data), framework, prelude].compactMap(\.self)
      + fire.compactMap { ScriptValue.file(inArgument: $0.data) }
  }

  private func configuration(
    _ target: RenderTarget, in directory: StoreDirectory
  ) async throws -> HostConfiguration {
    let manifest = try await target.manifest(source.manifest, in: directory)
    var configuration = try source.configuration(store, manifest: manifest)
    configuration.storage.directory = directory
    configuration.pages.opening.policy = policy.policy(deadline: deadline?.duration)
    configuration.pages.scripts.frameworkAdvice = { _ in "name its file with --framework FILE" }
    let folder = (target.filePath ?? manifest?.filePath).map { ($0 as NSString).deletingLastPathComponent }
    configuration.resources.localFolder = folder
    if let text = try Self.script("framework", framework) {
      for type in [BundleType.vue, .rax, .weex] { configuration.pages.scripts.frameworks[type] = text }
    }
    configuration.pages.scripts.preludeAdvice = { _ in "name its file with --prelude FILE" }
    if let text = try Self.script("prelude", prelude) {
      for type in BundleType.allCases { configuration.pages.scripts.preludes[type] = text }
    }
    var members = Dictionary(environment.map { ($0.key, $0.value) }) { _, last in last }
    if let size {
      let device = [
        "deviceWidth": Double(size.width) * size.scale, "deviceHeight": Double(size.height) * size.scale,
        "scale": size.scale,
      ]
      for (name, number) in device where members[name] == nil { members[name] = "\(number)" }
    }
    configuration.pages.device = DefaultConfiguration(texts: members)
    configuration.pages.scripts.limits.time = limits.time
    if let nodeEnvironment = determinism.nodeEnvironment {
      configuration.pages.scripts.nodeEnvironment = nodeEnvironment
    }
    // Only one page is opened, so that no spare engine is necessary.
    configuration.pages.scripts.ready = 0
    return configuration
  }

  /// - Throws: ``DescribedError`` if a file cannot be read.
  static func script(_ name: String, _ path: String?) throws -> String? {
    guard let path else { return nil }
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw DescribedError("the \(name) file \(path) cannot be read")
    }
    return text
  }

  /// - Returns: `true` if nothing failed.
  private func render(_ target: RenderTarget) async throws -> Bool {
    try await EphemeralStore.using(if: ephemeral, else: store.directory) { directory in
      try await using(target, in: directory) { try await render(target, $0) }
    }
  }

  private func using<Result: Sendable>(
    _ target: RenderTarget, in directory: StoreDirectory, _ body: (PageHost) async throws -> Result
  ) async throws -> Result {
    try await PageHost.using(try await configuration(target, in: directory)) { host in
      if offline { host.reachability.setting = .offline }
      return try await body(host)
    }
  }

  private func render(_ target: RenderTarget, _ host: PageHost) async throws -> Bool {
    let isFile = target.filePath != nil
    let notice = isFile ? nil : WaitNotice(.error, "the server")
    defer { notice?.end() }
    let recording = try record.map { try RecordingFile($0) }
    let (url, timeWaited) = try await target.url(host)
    let rendering = try await Rendering.run(
      .init(
        url: url, timeWaited: timeWaited, isFile: isFile, data: try data.map { try ScriptValue(argument: $0) } ?? [:],
        events: try fire.map { try $0.read() }, wait: wait.duration,
        timers: timers?.duration ?? PendingWork.timerLimit,
        htmlEmbedding: format == .html ? embed : nil,
        picture: format.picture.map { PictureOptions($0, screen: size, isFull: full) },
        keepsCommands: format == .commands, limits: limits, determinism: determinism.fixed, recording: recording,
        isInProcess: inProcess, notice: notice),
      on: host)
    try recording?.finish()
    for fault in rendering.faults { fault.write(to: .error) }
    if let note = rendering.look.bundle?.note { Terminal.report("not confirmed by the server: \(note)", .yellow) }
    report(rendering.look.pending)
    if !store.json || output != nil, rendering.look.tree.body != nil || format == .commands { try show(rendering) }
    if timings { for line in rendering.timingLines(isFile: isFile) { Terminal.error.line(line) } }
    if store.json { try JSONOutput.print(rendering.json(isFile: isFile, withTimings: timings)) }
    let failing = failOn.levels.reduce(0) { $0 + (rendering.notices.logged[$1] ?? 0) }
    if failing > 0 {
      Terminal.report("the page logged \(Formatting.count(failing, "line")) that --fail-on \(failOn) counts")
    }
    if failOn == .warning, !rendering.notices.missing.isEmpty {
      Terminal.report(
        "the page uses \(Formatting.count(rendering.notices.missing.count, "unregistered name")), which --fail-on warning counts"
      )
    }
    return rendering.state == .rendered && rendering.faults.isEmpty && failing == 0
      && (failOn != .warning || rendering.notices.missing.isEmpty)
  }

  /// Reports the page's pending work, and the work that was not waited for.
  private func report(_ pending: PendingWork) {
    if !pending.isSettled {
      let limit = wait.duration.inSeconds
      Terminal.report("after \(limit) the page still waits for \(pending.busyText) (--wait); this is its state so far")
    }
    if !pending.unawaitedText.isEmpty {
      Terminal.error.line(
        Terminal.error.styled("bundlectl: not waited for: \(pending.unawaitedText) (--timers)", .dim))
    }
  }

  private func show(_ rendering: Rendering) throws {
    if format.picture != nil {
      guard let picture = rendering.picture else { return }
      guard let output else { return Terminal.output.write(picture) }
      return try write(picture, of: rendering, to: output)
    }
    let text: String
    switch format {
    case .outline: text = rendering.look.tree.outline(withStyles: styles) + "\n"
    case .json: text = try JSONOutput.text(rendering.look.tree.json) + "\n"
    case .html:
      text = rendering.html ?? ""
      if let warning = rendering.look.tree.fontWarning {
        Terminal.error.line(Terminal.error.styled("bundlectl: \(warning)", .yellow))
      }
    case .commands: text = rendering.notices.commands.map { $0 + "\n" }.joined()
    case .png, .svg: return
    }
    guard let output else {
      return Terminal.output.write(format == .outline ? Terminal.output.styled(outline: text) : text)
    }
    try write(Array(text.utf8), of: rendering, to: output)
  }

  private func write(_ bytes: [UInt8], of rendering: Rendering, to output: String) throws {
    try OutputFile.write(Data(bytes), to: output)
    if watch { Terminal.error.line("\(Formatting.count(rendering.look.tree.count, "element")) written to \(output)") }
  }
}

extension PictureOptions.Screen: ExpressibleByArgument {
  /// The forms that are read, for messages.
  static let form = "a width and a height in points, and the pixels of a point behind @: 375x812 or 375x812@2"
}
