import ArgumentParser
import Foundation
import Logging
import PageKit

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

  /// - Throws: ``CommandError`` if the path of the store is not a folder.
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

  /// - Throws: ``CommandError`` if the path of the store is not a folder.
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

  /// - Throws: ``CommandError`` if the path of the store is not a folder.
  static func checkArgument(_ path: String?) throws {
    var isFolder: ObjCBool = false
    guard let path, FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
      return
    }
    throw CommandError("--store takes the store's folder: \(path) is a file")
  }
}
