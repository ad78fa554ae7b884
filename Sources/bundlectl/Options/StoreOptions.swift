import ArgumentParser
import Foundation
import Logging
import PageKit

/// What every command takes.
struct StoreOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "The store's folder.",
      discussion: "Default: $XDG_DATA_HOME/pagekit, or ~/.local/share/pagekit.", valueName: "dir"),
    completion: .directory)
  var store: String?

  @Flag(name: .long, help: "Print one JSON object on standard output; logs go to standard error.")
  var json = false

  @Flag(name: [.short, .long], help: "Log what is done, to standard error.")
  var verbose = false

  mutating func validate() throws { try StoreDirectory.checkName(store) }

  /// - Throws: ``CommandError`` if something that is no folder is in the place of the store.
  func check() throws { try StoreDirectory.checkArgument(store) }

  var directory: StoreDirectory { store.map { StoreDirectory($0) } ?? .standard() }

  /// The store as it is, for reading; nil where nothing is stored.
  ///
  /// - Throws: ``StoreError``.
  func reading() throws -> BundleStore? {
    do {
      return try BundleStore(reading: directory, logger: logger)
    } catch StoreError.absent {
      return nil
    }
  }

  /// The store, to be changed; nil where there is none.
  ///
  /// - Throws: ``StoreError``.
  func writing() throws -> BundleStore? {
    guard directory.hasStore else { return nil }
    return try BundleStore(at: directory, logger: logger)
  }

  /// Where the responses of the store's users are.
  var responses: ResponseDirectory { store.map { ResponseDirectory($0) } ?? .standard() }

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
  /// - Throws: `ValidationError` for a name that names nothing, as of a variable that is not set.
  static func checkName(_ path: String?) throws {
    if path?.isEmpty == true { throw ValidationError("--store takes the store's folder: its name is empty.") }
  }

  /// - Throws: ``CommandError`` if something that is no folder is in the place of the store.
  static func checkArgument(_ path: String?) throws {
    var isFolder: ObjCBool = false
    guard let path, FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
      return
    }
    throw CommandError("--store takes the store's folder: \(path) is a file")
  }
}
