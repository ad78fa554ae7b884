import ArgumentParser
import Foundation
import Logging
import PageKit
import Synchronization
import UnixSignals

/// The place of the store, and of the response cache beside it.
struct StorePlace: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "The store's folder.",
      discussion: "Default: $XDG_DATA_HOME/pagekit, or ~/.local/share/pagekit.", valueName: "dir"),
    completion: .directory)
  var store: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The app whose store is meant, instead of --store: $XDG_DATA_HOME/NAME/pagekit.", valueName: "name"))
  var app: String?

  mutating func validate() throws {
    try StoreDirectory.checkName(store)
    guard let app else { return }
    guard store == nil else { throw ValidationError("--store and --app both name a store: give one of them.") }
    guard !app.isEmpty, ![".", ".."].contains(app), !app.contains("/") else {
      throw ValidationError("--app takes the name of an app, which has no slash: found \(app.quotedForMessage).")
    }
  }

  /// - Throws: ``DescribedError`` if the path of the store is not a folder.
  func check() throws { try StoreDirectory.checkArgument(store) }

  /// `true` if the command says which store is meant.
  var isGiven: Bool { store != nil || app != nil }

  var directory: StoreDirectory { StoreDirectory(store: store, app: app) }
}

/// The options of every command.
struct StoreOptions: ParsableArguments {
  @OptionGroup var place: StorePlace

  @Flag(name: .long, help: "Print one JSON object on standard output; logs go to standard error.")
  var json = false

  @Flag(name: [.short, .long], help: "Log to standard error.")
  var verbose = false

  /// - Throws: ``DescribedError`` if the path of the store is not a folder.
  func check() throws { try place.check() }

  var directory: StoreDirectory { place.directory }

  /// The store for reading; `nil` if nothing is stored.
  ///
  /// - Throws: ``StoreError``.
  func reading() throws -> BundleStore? {
    do {
      return try BundleStore(reading: directory, logger: logger)
    } catch StoreError.absent {
      return nil
    }
  }

  /// The store for changes; `nil` if there is none.
  ///
  /// - Throws: ``StoreError``.
  func writing() throws -> BundleStore? {
    guard directory.hasStore else { return nil }
    return try BundleStore(at: directory, logger: logger)
  }

  /// The folder of responses in the store.
  var responses: ResponseDirectory { ResponseDirectory(beside: directory) }

  var logger: Logger { Self.logger(isVerbose: verbose) }

  static func logger(isVerbose: Bool) -> Logger {
    let level: Logger.Level = isVerbose ? .debug : .error
    return Logger(label: "bundlectl") { label in
      var handler = StreamLogHandler.standardError(label: label)
      handler.logLevel = level
      return handler
    }
  }
}

extension StoreDirectory {
  /// The store of the options `--store` and `--app`.
  init(store: String?, app: String?) { self = store.map { .init($0) } ?? app.map { .app($0) } ?? .standard() }

  /// - Throws: `ValidationError` for an empty name, such as that of an unset variable.
  static func checkName(_ path: String?) throws {
    if path?.isEmpty == true { throw ValidationError("--store takes the store's folder: its name is empty.") }
  }

  /// - Throws: ``DescribedError`` if the path of the store is not a folder.
  static func checkArgument(_ path: String?) throws {
    var isFolder: ObjCBool = false
    guard let path, FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
      return
    }
    throw DescribedError("--store takes the store's folder: \(path) is a file")
  }

  private static let hasWarned = Atomic<Bool>(false)

  /// Warns once that a command's responses are not stored.
  ///
  /// - Parameters:
  ///   - reason: the reason why the cache is read-only.
  ///   - unreadable: the reason why its responses are not used.
  func warnReadOnly(_ reason: String, unreadable: StoreError? = nil) {
    guard !Self.hasWarned.exchange(true, ordering: .relaxed) else { return }
    Terminal.report("the store \(path) is read-only, and nothing is stored in it: \(reason)")
    if let unreadable { Terminal.report("its responses are not used: \(unreadable)") }
  }
}

/// A temporary folder for the store, cache, cookies and storage of one run.
enum EphemeralStore {
  private static let present = Mutex<URL?>(nil)
  private static let watcher = Mutex<Task<Void, Never>?>(nil)
  private static let ending = Mutex<[@Sendable () -> Void]>([])

  /// Has an action run when the folder is removed, also at a signal.
  static func whenRemoved(_ action: @escaping @Sendable () -> Void) { ending.withLock { $0.append(action) } }

  /// Removes the folder at once, for an end of the process without other clean-up.
  static func remove() {
    for action in ending.withLock({ actions in
      defer { actions = [] }
      return actions
    }) { action() }
    if let folder = present.withLock({ $0.take() }) { remove(folder) }
  }

  /// Removes a folder in which unfinished work, such as opening a cache, may still create files.
  static func remove(_ folder: URL) {
    // From here on, creating a file by its old path fails.
    let aside = folder.appendingPathExtension("removed")
    try? FileManager.default.moveItem(at: folder, to: aside)
    for _ in 0..<removals {
      for place in [aside, folder] { try? FileManager.default.removeItem(at: place) }
      guard [aside, folder].contains(where: { FileManager.default.fileExists(atPath: $0.path) }) else { return }
      usleep(removalPause)
    }
  }

  private static let removals = 50
  private static let removalPause: UInt32 = 10_000

  /// - Parameters:
  ///   - isWanted: pass `false` to use `standing` instead.
  /// - Throws: ``DescribedError`` if no folder can be created, and errors of `body`.
  static func using<Result: Sendable>(
    if isWanted: Bool, else standing: StoreDirectory, _ body: (StoreDirectory) async throws -> Result
  ) async throws -> Result {
    guard isWanted else { return try await body(standing) }
    await endAtSignals()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("bundlectl-\(UUID().uuidString)")
    do {
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw DescribedError("the temporary folder \(folder.path) cannot be created: \(error.plainReason)")
    }
    present.withLock { $0 = folder }
    defer { remove() }
    // A closed pipe must not end the process before the folder is removed: the next write fails instead.
    let lostReaders = await UnixSignalsSequence(trapping: .sigpipe)
    defer { withExtendedLifetime(lostReaders) {} }
    return try await body(StoreDirectory(folder.path))
  }

  /// From the first call until the process ends, a signal removes the folder and ends the process, without waiting for
  /// scripts.
  private static func endAtSignals() async {
    guard watcher.withLock({ $0 == nil }) else { return }
    let interruption = await Interruption()
    watcher.withLock { watcher in
      watcher = Task {
        guard await interruption.signal() else { return }
        remove()
        _exit(Interruption.exitCode.rawValue)
      }
    }
  }
}
