import ArgumentParser
import Foundation

/// The two ways the executable starts.
public enum HostEntry {
  /// Runs pages for the daemon that started this process; never returns.
  public static func runWorker() -> Never {
    // The seam for the workers' entry.
    FileHandle.standardError.write(Data("renderhost: a worker is started by the daemon only\n".utf8))
    exit(64)
  }

  /// Reads the flags and runs the daemon; never returns.
  public static func runHost() async -> Never {
    await HostCommand.main()
    exit(0)
  }
}
