import Foundation

/// A file system of three megabytes, for who may mount one.
package final class SmallDisk {
  package let path: String

  package init?() {
    guard geteuid() == 0 else { return nil }
    path = NSTemporaryDirectory() + "pagekit-small-\(UUID().uuidString)"
    guard mkdir(path, 0o755) == 0 else { return nil }
    guard Self.run("mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", path) else {
      rmdir(path)
      return nil
    }
  }

  deinit {
    _ = Self.run("umount", "-l", path)
    rmdir(path)
  }

  /// Takes every byte that is free.
  package func fill() throws {
    _ = FileManager.default.createFile(atPath: path + "/filling", contents: nil)
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path + "/filling"))
    for size in [65_536, 4_096, 1] {
      while (try? file.write(contentsOf: Data(count: size))) != nil {}
    }
    try file.close()
  }

  private static func run(_ arguments: String...) -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }

  package static let isAvailable = SmallDisk() != nil
}
