import Foundation
import PageCore
import SystemPackage

/// Where the parts of a store are.
public struct StoreDirectory: Hashable, Sendable {
  public let root: FilePath

  public init(_ path: String) {
    root = FilePath(path).lexicallyNormalized()
  }

  /// `XDG_DATA_HOME/pagekit`, or `~/.local/share/pagekit`.
  public static func standard(environment: [String: String] = ProcessInfo.processInfo.environment) -> StoreDirectory {
    // The XDG specification has relative paths ignored.
    if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") {
      return StoreDirectory(data + "/pagekit")
    }
    return StoreDirectory((environment["HOME"] ?? NSHomeDirectory()) + "/.local/share/pagekit")
  }

  public var path: String { root.string }
  public var database: FilePath { root.appending("store.sqlite") }
  var blobs: FilePath { root.appending("blobs") }
  var partial: FilePath { root.appending("partial") }
  var quarantine: FilePath { root.appending("quarantine") }
  /// Files that are locked while open pages view releases.
  var views: FilePath { root.appending("views") }
  /// Held shared by writers, exclusively by the collector.
  var lock: FilePath { root.appending("lock") }

  /// Whether there is a store.
  public var hasStore: Bool { FileSystem.status(database) != nil }

  /// Makes the folders that are missing.
  func create() throws {
    for folder in [root, blobs, partial, quarantine, views] {
      do {
        try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
      } catch {
        throw StoreError.notWritable(path: folder.string, reason: (error as NSError).plainReason)
      }
    }
  }
}

extension NSError {
  /// The system's words where there are some.
  var plainReason: String {
    if let underlying = userInfo[NSUnderlyingErrorKey] as? NSError, underlying.domain == NSPOSIXErrorDomain {
      return Errno(rawValue: Int32(underlying.code)).description
    }
    return localizedDescription
  }
}
