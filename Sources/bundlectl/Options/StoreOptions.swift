import ArgumentParser
import Foundation
import Logging
import PageKit

/// The options of every command.
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

  @Flag(name: [.short, .long], help: "Log to standard error.")
  var verbose = false

  mutating func validate() throws { try StoreDirectory.checkName(store) }

  /// - Throws: ``CommandError`` if the path of the store is not a folder.
  func check() throws { try StoreDirectory.checkArgument(store) }

  var directory: StoreDirectory { store.map { StoreDirectory($0) } ?? .standard() }

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
